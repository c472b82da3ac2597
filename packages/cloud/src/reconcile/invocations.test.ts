import * as Ecs from '@alicloud/ecs20140526';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { FaultPoints } from '../domain/faults.js';
import { createId, type InstanceId, type InvocationId, type RegionId } from '../domain/ids.js';
import type { RunStatus } from '../domain/invocation.js';
import { ComputeError } from '../drivers/compute/driver.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';
import { InvocationLoop } from './invocations.js';

let cloud: TestCloud;
let instanceId: InstanceId;

async function launch(): Promise<InstanceId> {
  const { body } = await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId: cloud.regionId,
      zoneId: 'cn-hangzhou-a',
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.c6.large',
    }),
  );
  await cloud.cloud.reconciler.idle();
  return (body?.instanceIdSets?.instanceIdSet?.[0] ?? '') as InstanceId;
}

beforeAll(async () => {
  cloud = await startTestCloud();
  instanceId = await launch();
});
afterAll(() => cloud.stop());

interface NewRun {
  readonly content?: string;
  readonly status?: RunStatus;
  readonly timeoutSeconds?: number;
  readonly instance?: InstanceId;
  /** Tells the cloud's own loop of it; otherwise only a loop that is started later sees it. */
  readonly wake?: boolean;
}

/** Puts an invocation into the store as an action would. */
async function store(run: NewRun): Promise<InvocationId> {
  const { content = 'true', status = 'Pending', timeoutSeconds = 60, instance = instanceId } = run;
  const id = createId('invocation', 'bp1');
  const now = new Date().toISOString();
  await cloud.cloud.parts.store.transaction({ name: 'test' }, async (tx) => {
    await tx.db
      .insertInto('invocations')
      .values({
        id,
        kind: 'command',
        accountId: cloud.cloud.credentials.accountId,
        regionId: cloud.regionId as RegionId,
        commandId: 'c-1',
        name: '',
        type: 'RunShellScript',
        content: Buffer.from(content).toString('base64'),
        timeoutSeconds,
        creationTime: now,
      })
      .execute();
    await tx.db
      .insertInto('invocationRuns')
      .values({ invocationId: id, instanceId: instance, status, updateTime: now })
      .execute();
    if (run.wake === true) tx.wake({ kind: 'invocation', id });
  });
  return id;
}

async function resultOf(id: InvocationId) {
  const run = await cloud.cloud.parts.store.reader
    .selectFrom('invocationRuns')
    .selectAll()
    .where('invocationId', '=', id)
    .executeTakeFirstOrThrow();
  return { ...run, output: Buffer.from(run.output, 'base64').toString() };
}

function untilRunning(id: InvocationId): Promise<void> {
  return expect.poll(async () => (await resultOf(id)).status).toBe('Running');
}

/** A loop such as a restarted process has, on the same store and engine. */
function createLoop(faults: FaultPoints = { reach: () => undefined }): InvocationLoop {
  const loop = new InvocationLoop({
    parts: cloud.cloud.parts,
    computeDrivers: new Map([
      [cloud.compute.a.hostId, cloud.compute.a],
      [cloud.compute.b.hostId, cloud.compute.b],
    ]),
    faults,
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => loop.stop());
  return loop;
}

describe('the invocation loop', () => {
  it('ends a program whose time is over, and keeps what it wrote', async () => {
    const id = await store({ content: 'echo begun; sleep 1000', timeoutSeconds: 0.2, wake: true });
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(id)).toMatchObject({
      status: 'Timeout',
      errorCode: 'ExecutionTimeout',
      errorInfo: 'the command execution has been timeout',
      output: 'begun\n',
      exitCode: null,
    });
  });

  it('runs what waited when the process died', async () => {
    const id = await store({ content: 'echo late' });
    const loop = createLoop();
    await loop.start();
    await loop.idle();
    expect(await resultOf(id)).toMatchObject({ status: 'Success', output: 'late\n' });
  });

  it('does not run again what ran when the process died, kills the rest of it, and says so', async () => {
    const id = await store({ content: 'echo again', status: 'Running' });
    const before = cloud.compute.a.calls.get('exec') ?? 0;
    const loop = createLoop();
    await loop.start();
    await loop.idle();
    expect(await resultOf(id)).toMatchObject({
      status: 'Error',
      errorCode: 'ExecutionInterrupted',
      errorInfo: expect.stringContaining('not run again'),
      output: '',
    });
    expect(cloud.compute.a.calls.get('exec')).toBe(before + 1);
  });

  it('goes on with a stop that the process died in', async () => {
    const id = await store({ status: 'Stopping' });
    const loop = createLoop();
    await loop.start();
    await loop.idle();
    expect((await resultOf(id)).status).toBe('Terminated');
  });

  it('passes its fault points in order', async () => {
    const reached: string[] = [];
    await store({});
    const loop = createLoop({ reach: (name) => reached.push(name) });
    await loop.start();
    await loop.idle();
    expect(reached).toEqual([
      'invocation.started',
      'invocation.finishedOnHost',
      'invocation.finishedInStore',
    ]);
  });

  it('ends what runs when it is stopped, since nobody would hear of its end', async () => {
    const id = await store({ content: 'sleep 1000' });
    const loop = createLoop();
    await loop.start();
    await untilRunning(id);
    await loop.stop();
    expect(await resultOf(id)).toMatchObject({ status: 'Error', errorCode: 'ExecutionInterrupted' });
  });

  it('ends cleanly with its instance being deleted', async () => {
    const instance = await launch();
    const id = await store({ content: 'sleep 1000', instance, wake: true });
    await untilRunning(id);
    await cloud.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId: instance, force: true }));
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(id)).toMatchObject({ status: 'Error', errorCode: 'InstanceReleased' });
  });

  it('ends cleanly with its instance being stopped', async () => {
    const instance = await launch();
    const id = await store({ content: 'sleep 1000', instance, wake: true });
    await untilRunning(id);
    await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: instance, forceStop: true }));
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(id)).toMatchObject({ status: 'Error', errorCode: 'ExecutionInterrupted' });
    const late = await store({ instance, wake: true });
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(late)).toMatchObject({ status: 'Aborted', errorCode: 'InstanceNotRunning' });
  });

  it('fails what may or may not have begun when the engine went away, without running it twice', async () => {
    cloud.compute.a.failNext('exec', new ComputeError('unavailable', 'gone'), 'after');
    const id = await store({ content: 'echo maybe', wake: true });
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(id)).toMatchObject({ status: 'Error', errorCode: 'ExecutionInterrupted' });
  });

  it('tells what the engine says when it cannot run something', async () => {
    cloud.compute.a.failNext('exec', new ComputeError('failed', 'no more processes'));
    const id = await store({ wake: true });
    await cloud.cloud.reconciler.idle();
    expect(await resultOf(id)).toMatchObject({
      status: 'Error',
      errorCode: 'ExecutionException',
      errorInfo: 'the command execution got an exception: no more processes',
    });
  });

  it('forgets what can no longer be looked up', async () => {
    const id = await store({});
    const loop = createLoop();
    await loop.start();
    await loop.idle();
    await cloud.cloud.parts.store.transaction({ name: 'test' }, ({ db }) =>
      db
        .updateTable('invocations')
        .set({ creationTime: new Date(Date.now() - 29 * 86_400_000).toISOString() })
        .where('id', '=', id)
        .execute(),
    );
    await createLoop().start();
    await expect(resultOf(id)).rejects.toThrow('no result');
  });
});
