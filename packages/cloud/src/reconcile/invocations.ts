import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import { fillParameters } from '../domain/commandParameters.js';
import type { FaultPoints } from '../domain/faults.js';
import type { HostId, InvocationId } from '../domain/ids.js';
import {
  endedBy,
  endedWith,
  openRunStatuses,
  parseFileDelivery,
  type RunEnd,
  type RunErrorCode,
  type RunStatus,
} from '../domain/invocation.js';
import { type ComputeDriver, ComputeError } from '../drivers/compute/driver.js';
import { deleteOldInvocations } from '../store/invocations.js';
import type { Reader, Transaction } from '../store/store.js';
import type { Instance, Invocation, InvocationRun } from '../store/tables.js';
import { toSecondsTime } from '../store/times.js';
import {
  createCommandProgram,
  createFileProgram,
  createKillRequest,
  type GuestProgram,
} from './guestScripts.js';
import { OutputTail } from './outputTail.js';
import { WorkQueue } from './workQueue.js';

export interface InvocationLoopOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly faults: FaultPoints;
  readonly log: Logger;
}

/** Programs at once on a host. The engine keeps a process of some megabytes for each. */
const maxRunningPerHost = 128;

const cleanUpEveryMs = 3_600_000;

/** How often the output of a program that still runs is made visible, as the provider's agent does. */
const showOutputEveryMs = 1_000;

const actor = { name: 'invocation-loop' };

/** Why a program is ended before its time. */
class Interruption extends Error {
  constructor(readonly trigger: 'timeout' | 'stop' | 'shutdown') {
    super(trigger);
  }
}

interface Claim {
  readonly run: InvocationRun;
  readonly invocation: Invocation;
  readonly instance: Instance;
}

/**
 * Runs commands in instances and puts files into them. A run that is found Running without being executed
 * here was begun by a process that died: what is left of it is killed, and it has failed. Nothing is ever
 * run twice.
 */
export class InvocationLoop {
  private readonly queue: WorkQueue;
  /** Runs that this process executes, by their sequence number. */
  private readonly executing = new Map<number, AbortController>();
  private readonly enqueuing = new Set<Promise<void>>();
  private cleanUpTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: InvocationLoopOptions) {
    this.queue = new WorkQueue({
      work: (key) => this.reconcile(readKey(key).sequence),
      groupOf: (key) => readKey(key).hostId,
      maxRunningPerGroup: maxRunningPerHost,
      onError: (run, err, attempt) => options.log.warn({ err, run, attempt }, 'a run could not be ended'),
    });
  }

  /** Takes up what an earlier process left undone. */
  async start(): Promise<void> {
    await this.enqueue();
    const cleanUp = () =>
      deleteOldInvocations(this.options.parts.store).catch((err: unknown) =>
        this.options.log.error({ err }, 'old invocations could not be deleted'),
      );
    await cleanUp();
    this.cleanUpTimer = setInterval(cleanUp, cleanUpEveryMs).unref();
  }

  /** Something about the invocation changed: it is new, or shall stop. */
  add(id: InvocationId): void {
    const enqueued = this.enqueue(id)
      .catch((err: unknown) => this.options.log.error({ err, invocationId: id }, 'invocation not looked at'))
      .finally(() => this.enqueuing.delete(enqueued));
    this.enqueuing.add(enqueued);
  }

  /** Resolves when no program runs and none waits to. */
  async idle(): Promise<void> {
    await Promise.all(this.enqueuing);
    await this.queue.idle();
  }

  /** Ends the programs that run, since nobody would hear of their end. */
  async stop(): Promise<void> {
    clearInterval(this.cleanUpTimer);
    await Promise.all(this.enqueuing);
    for (const controller of this.executing.values()) controller.abort(new Interruption('shutdown'));
    await this.queue.stop();
  }

  private async enqueue(id?: InvocationId): Promise<void> {
    let query = this.options.parts.store.reader
      .selectFrom('invocationRuns')
      .leftJoin('instances', 'instances.id', 'invocationRuns.instanceId')
      .select(['invocationRuns.sequence', 'invocationRuns.status', 'instances.hostId'])
      .where('invocationRuns.status', 'in', openRunStatuses)
      .orderBy('invocationRuns.sequence');
    if (id !== undefined) query = query.where('invocationId', '=', id);
    for (const { sequence, status, hostId } of await query.execute()) {
      const controller = this.executing.get(sequence);
      if (!controller) this.queue.add(writeKey(hostId, sequence));
      else if (status === 'Stopping') controller.abort(new Interruption('stop'));
    }
  }

  private async reconcile(sequence: number): Promise<void> {
    const run = await this.options.parts.store.reader
      .selectFrom('invocationRuns')
      .selectAll()
      .where('sequence', '=', sequence)
      .executeTakeFirst();
    switch (run?.status) {
      case 'Pending':
        return this.execute(run);
      case 'Running':
      case 'Stopping':
        return this.endAbandoned(run);
    }
  }

  private async execute(run: InvocationRun): Promise<void> {
    const { faults } = this.options;
    const controller = new AbortController();
    // Before the row says Running: a stop that comes right after must find it.
    this.executing.set(run.sequence, controller);
    try {
      const claim = await this.claim(run);
      if (!claim) return;
      faults.reach('invocation.started');
      const output = new OutputTail();
      const end = await this.runInGuest(claim, controller, output);
      faults.reach('invocation.finishedOnHost');
      await this.finish(run, end, output);
      faults.reach('invocation.finishedInStore');
    } finally {
      this.executing.delete(run.sequence);
    }
  }

  /** Makes the run this process's own; `undefined` when there is nothing to be run. */
  private async claim(run: InvocationRun): Promise<Claim | undefined> {
    return this.options.parts.store.transaction(actor, async (tx) => {
      const instance = await findInstance(tx.db, run);
      const refusal = refuse(instance);
      if (refusal) {
        await writeEnd(tx, run, endedBy('Aborted', refusal));
        return undefined;
      }
      const now = toSecondsTime(tx.now);
      const claimed = await tx.db
        .updateTable('invocationRuns')
        .set({ status: 'Running', startTime: now, updateTime: now })
        .where('sequence', '=', run.sequence)
        .where('status', '=', 'Pending')
        .returningAll()
        .executeTakeFirst();
      if (!claimed || !instance) return undefined;
      const invocation = await tx.db
        .selectFrom('invocations')
        .selectAll()
        .where('id', '=', run.invocationId)
        .executeTakeFirstOrThrow();
      return { run: claimed, invocation, instance };
    });
  }

  private async runInGuest(claim: Claim, controller: AbortController, output: OutputTail): Promise<RunEnd> {
    const { instance, invocation } = claim;
    const timer = setTimeout(
      () => controller.abort(new Interruption('timeout')),
      invocation.timeoutSeconds * 1000,
    );
    const program = createProgram(invocation, instance);
    let shownBytes = 0;
    const showing = setInterval(() => {
      if (output.writtenBytes === shownBytes) return;
      shownBytes = output.writtenBytes;
      this.showOutput(claim.run, output).catch((err: unknown) =>
        this.options.log.warn({ err, invocationId: invocation.id }, 'output could not be shown'),
      );
    }, showOutputEveryMs);
    try {
      const { exitCode } = await this.driverOf(instance.hostId).exec(instance.id, {
        ...program.request,
        onOutput: (_stream, chunk) => output.append(chunk),
        signal: controller.signal,
      });
      return await this.judge(claim, program, exitCode, output);
    } catch (error) {
      if (error instanceof Interruption) return await this.interrupt(claim, error);
      return (await this.findInstanceEnd(claim.run)) ?? endedByError(error);
    } finally {
      clearTimeout(timer);
      clearInterval(showing);
    }
  }

  private async showOutput(run: InvocationRun, output: OutputTail): Promise<void> {
    const { bytes, droppedBytes } = output.read();
    const write = async (tx: Transaction): Promise<void> => {
      await tx.db
        .updateTable('invocationRuns')
        .set({ output: bytes.toString('base64'), droppedBytes, updateTime: toSecondsTime(tx.now) })
        .where('sequence', '=', run.sequence)
        .where('status', 'in', ['Running', 'Stopping'])
        .execute();
    };
    await this.options.parts.store.transaction(actor, write, 'derived');
  }

  private async judge(
    claim: Claim,
    program: GuestProgram,
    exitCode: number,
    output: OutputTail,
  ): Promise<RunEnd> {
    if (exitCode === 1) {
      const failure = program.findFailure(output.read().bytes);
      if (failure) {
        output.clear();
        return endedBy(statusOfFailure(failure.code), failure.code, failure.detail || undefined);
      }
    }
    if (exitCode === 0) return endedWith(exitCode);
    const end = await this.findInstanceEnd(claim.run);
    return end === undefined ? endedWith(exitCode) : { ...end, exitCode };
  }

  /**
   * How a program ended whose instance went down under it. Such programs end with all kinds of codes and
   * errors: 137, 2 of a shell that could not fork any more, or a connection that broke.
   */
  private async findInstanceEnd(run: InvocationRun): Promise<RunEnd | undefined> {
    const instance = await findInstance(this.options.parts.store.reader, run);
    if (!instance || instance.status === 'Deleted') return endedBy('Error', 'InstanceReleased');
    return instance.status === 'Running' ? undefined : endedBy('Error', 'ExecutionInterrupted');
  }

  private async interrupt(claim: Claim, { trigger }: Interruption): Promise<RunEnd> {
    await this.killLeftovers(claim.run, claim.instance);
    switch (trigger) {
      case 'timeout':
        return endedBy('Timeout', 'ExecutionTimeout');
      case 'stop':
        return { status: 'Terminated', exitCode: null, errorCode: '', errorInfo: '' };
      case 'shutdown':
        return endedBy('Error', 'ExecutionInterrupted', 'the control plane was stopped');
    }
  }

  private async endAbandoned(run: InvocationRun): Promise<void> {
    const instance = await findInstance(this.options.parts.store.reader, run);
    await this.killLeftovers(run, instance);
    const status: RunStatus = run.status === 'Stopping' ? 'Terminated' : 'Error';
    const detail = 'contact with it was lost while it ran; it is not run again';
    await this.finish(run, endedBy(status, 'ExecutionInterrupted', detail));
    this.options.faults.reach('invocation.finishedInStore');
  }

  /** What ran in an instance that is down has ended with it. */
  private async killLeftovers(run: InvocationRun, instance: Instance | undefined): Promise<void> {
    if (instance?.status !== 'Running') return;
    const driver = this.driverOf(instance.hostId);
    try {
      const { exitCode } = await driver.exec(instance.id, createKillRequest(run.invocationId));
      if (exitCode !== 0) throw new ComputeError('failed', `${run.invocationId} cannot be killed`);
    } catch (error) {
      if (error instanceof ComputeError && ['not-found', 'in-use'].includes(error.reason)) return;
      throw error;
    }
  }

  private async finish(run: InvocationRun, end: RunEnd, output?: OutputTail): Promise<void> {
    await this.options.parts.store.transaction(actor, (tx) => writeEnd(tx, run, end, output));
  }

  private driverOf(hostId: HostId): ComputeDriver {
    const driver = this.options.computeDrivers.get(hostId);
    if (!driver) throw new ComputeError('unavailable', `host ${hostId} is not configured`);
    return driver;
  }
}

/** Keys carry the host, so that the queue can count by it. */
function writeKey(hostId: HostId | null, sequence: number): string {
  return `${hostId ?? ''}/${sequence}`;
}

function readKey(key: string): { readonly hostId: string; readonly sequence: number } {
  const [hostId = '', sequence = ''] = key.split('/');
  return { hostId, sequence: Number(sequence) };
}

function findInstance(db: Reader, run: InvocationRun): Promise<Instance | undefined> {
  return db.selectFrom('instances').selectAll().where('id', '=', run.instanceId).executeTakeFirst();
}

/** Why nothing can be run in an instance as it is. */
function refuse(instance: Instance | undefined): RunErrorCode | undefined {
  if (!instance || instance.status === 'Deleted') return 'InstanceReleased';
  return instance.status === 'Running' ? undefined : 'InstanceNotRunning';
}

async function writeEnd(
  tx: Transaction,
  run: InvocationRun,
  end: RunEnd,
  output?: OutputTail,
): Promise<void> {
  const { bytes, droppedBytes } = output?.read() ?? { bytes: Buffer.alloc(0), droppedBytes: 0 };
  const now = toSecondsTime(tx.now);
  const written = await tx.db
    .updateTable('invocationRuns')
    .set({ ...end, output: bytes.toString('base64'), droppedBytes, finishTime: now, updateTime: now })
    .where('sequence', '=', run.sequence)
    .where('status', 'in', openRunStatuses)
    .executeTakeFirst();
  if (written.numUpdatedRows === 0n) return;
  await tx.record({
    resourceType: 'invocation',
    resourceId: run.invocationId,
    action: 'RunEnded',
    after: { instanceId: run.instanceId, status: end.status, errorCode: end.errorCode },
  });
}

function createProgram(invocation: Invocation, instance: Instance): GuestProgram {
  const content = Buffer.from(invocation.content, 'base64');
  if (invocation.kind === 'file') {
    const path = { directory: invocation.workingDirectory ?? '/', name: invocation.name };
    return createFileProgram(invocation.id, content, path, parseFileDelivery(invocation.file));
  }
  const script = invocation.hasParameters
    ? fillParameters(content.toString(), JSON.parse(invocation.parameters) as Record<string, string>, {
        RegionId: invocation.regionId,
        AccountId: invocation.accountId,
        InstanceId: instance.id,
        InstanceName: instance.name,
        InvokeId: invocation.id,
        CommandId: invocation.commandId,
      })
    : content;
  return createCommandProgram(
    invocation.id,
    typeof script === 'string' ? Buffer.from(script) : script,
    invocation.userName ?? 'root',
    invocation.workingDirectory ?? undefined,
  );
}

function statusOfFailure(code: RunErrorCode): RunStatus {
  switch (code) {
    case 'AccountNotExists':
    case 'UserGroupNotExists':
    case 'DirectoryNotExists':
      return 'Invalid';
    case 'FileAlreadyExists':
    case 'FileCreateFail':
      return 'Failed';
    default:
      return 'Error';
  }
}

function endedByError(error: unknown): RunEnd {
  if (!(error instanceof ComputeError)) throw error;
  switch (error.reason) {
    case 'not-found':
      return endedBy('Error', 'InstanceReleased');
    case 'in-use':
      return endedBy('Error', 'InstanceNotRunning');
    case 'unavailable':
      // Whether it runs cannot be known now. The next attempt finds the run abandoned, and ends it.
      throw error;
    case 'no-space':
    case 'refused':
    case 'failed':
      return endedBy('Error', 'ExecutionException', error.message);
  }
}
