import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import type { FaultPoints } from '../domain/faults.js';
import type { HostId, InstanceId } from '../domain/ids.js';
import { assertTransition, type InstanceStatus } from '../domain/instance.js';
import { type ComputeDriver, ComputeError, type ObservedInstance } from '../drivers/compute/driver.js';
import type { NetworkDriver } from '../drivers/network/driver.js';
import { giveUpDisks, releaseDisks, settleDisks } from '../store/disks.js';
import { releaseAll, releaseCompute } from '../store/ledger.js';
import {
  giveUpPlugging,
  releaseNetworkInterfaces,
  settleNetworkInterfaces,
  wakeForPlugging,
} from '../store/networkInterfaces.js';
import type { Transaction } from '../store/store.js';
import type { Instance, InstanceChange } from '../store/tables.js';
import { toMinuteTime } from '../store/times.js';
import type { DiskLoop } from './disks.js';
import { readInstanceSpec } from './instanceSpec.js';
import type { VpcNetworks } from './vpcNetworks.js';

/** How long a guest may take to shut down before it is switched off. */
const graceTimeoutMs = 60_000;

/** Attempts at something that may be passing before the instance is given up. */
const maxAttempts = 5;

const actor = { name: 'instance-loop' };

/** Writes down which network interfaces and disks are plugged in and out now. */
type SettleStep = (tx: Transaction) => Promise<void>;

export interface InstanceLoopOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly network: NetworkDriver;
  readonly networks: VpcNetworks;
  readonly disks: DiskLoop;
  readonly faults: FaultPoints;
  readonly log: Logger;
}

/**
 * Brings single instances in line with the store. Each call reads what is wanted, compares, and takes the
 * steps that lead there; every step may be repeated, so a process that died between two of them goes on
 * where it was.
 */
export class InstanceLoop {
  private readonly attempts = new Map<InstanceId, number>();

  constructor(private readonly options: InstanceLoopOptions) {}

  /** One attempt; throws when it is to be repeated later. */
  async reconcile(id: InstanceId): Promise<void> {
    const instance = await this.find(id);
    if (!instance) return;
    try {
      await this.step(instance);
      this.attempts.delete(id);
    } catch (error) {
      await this.handleFailure(instance, error);
    }
  }

  /** Compares a settled instance with what the engine says about it, after the engine said it changed. */
  async observe(id: InstanceId, observed: ObservedInstance | undefined): Promise<void> {
    const instance = await this.find(id);
    if (instance?.status !== 'Running' || observed?.status === 'running') return;
    const failure = observed ? null : 'the host does not have the instance any more';
    this.options.log.warn({ instanceId: id, failure }, 'instance stopped by itself');
    await this.change(instance, 'Stopped', observed ? 'StoppedByGuest' : 'LostOnHost', { failure });
  }

  /** The host came up again without it: whatever ran before runs again. */
  async restartAfterHostReboot(id: InstanceId): Promise<void> {
    const instance = await this.find(id);
    if (instance?.status === 'Running') await this.change(instance, 'Starting', 'HostRestarted', {});
  }

  private async step(instance: Instance): Promise<void> {
    switch (instance.status) {
      case 'Pending':
        return this.create(instance);
      case 'Starting':
        return this.start(instance);
      case 'Stopping':
        return this.stop(instance);
      case 'Deleted':
        return this.remove(instance);
      case 'Running':
      case 'Stopped':
        return instance.generation === instance.appliedGeneration ? undefined : this.update(instance);
    }
  }

  private async create(instance: Instance): Promise<void> {
    const { networks, disks, faults } = this.options;
    const driver = this.driverOf(instance);
    await disks.prepare(instance.id);
    const spec = await this.readSpec(instance);
    // The bridge must exist before the engine plugs into it, at the start; creating needs no network.
    const [network, created] = await Promise.allSettled([
      networks.apply(instance.vpcId).then(() => faults.reach('instance.networkApplied')),
      driver.createInstance(spec),
    ]);
    if (created.status === 'rejected') throw created.reason;
    if (network.status === 'rejected') throw network.reason;
    faults.reach('instance.createdOnHost');
    // The wish may have become another meanwhile: StartInstance is also told to what is still being created.
    const next = ({ targetStatus }: Instance) => (targetStatus === 'Running' ? 'Starting' : 'Stopped');
    const values: InstanceChange = { created: 1, appliedGeneration: instance.generation };
    const volumes = new Set(spec.disks.map((disk) => disk.volume));
    const current = await this.change(instance, next, 'Created', values, (tx) =>
      settleDisks(tx, instance.id, volumes),
    );
    faults.reach('instance.createdInStore');
    if (current?.status === 'Starting') await this.switchOn(current);
  }

  private async start(instance: Instance): Promise<void> {
    const { faults, networks } = this.options;
    const driver = this.driverOf(instance);
    let settle: SettleStep | undefined;
    if (instance.rebootsWanted !== instance.rebootsDone) {
      await driver.stopInstance(instance.id, instance.forceStop ? {} : { graceTimeoutMs });
      faults.reach('instance.stoppedOnHost');
    }
    if (instance.generation === instance.appliedGeneration) await networks.apply(instance.vpcId);
    else settle = await this.configure(instance);
    await this.switchOn(instance, settle);
  }

  /**
   * Has network and engine be as the store says. The order counts: the spec is read first, so that the
   * network knows every port that the engine is told to plug in; a port that is unplugged goes from the
   * network later, when the step that this gives has been taken.
   */
  private async configure(instance: Instance): Promise<SettleStep> {
    const { disks, faults, network, networks } = this.options;
    await disks.prepare(instance.id);
    const spec = await this.readSpec(instance);
    await networks.apply(instance.vpcId);
    await this.driverOf(instance).updateInstance(spec);
    faults.reach('instance.updatedOnHost');
    const plugged = new Set(spec.nics.map((nic) => nic.hostDevice));
    const volumes = new Set(spec.disks.map((disk) => disk.volume));
    return async (tx) => {
      await settleNetworkInterfaces(tx, instance.id, (id) => plugged.has(network.names.hostDevice(id)));
      await settleDisks(tx, instance.id, volumes);
    };
  }

  /** Starts an instance whose configuration and network are as they shall be. */
  private async switchOn(instance: Instance, settle?: SettleStep): Promise<void> {
    const { faults } = this.options;
    await this.driverOf(instance).startInstance(instance.id);
    faults.reach('instance.startedOnHost');
    const isReboot = instance.rebootsWanted !== instance.rebootsDone;
    const values: InstanceChange = {
      startTime: toMinuteTime(new Date().toISOString()),
      rebootsDone: instance.rebootsWanted,
      appliedGeneration: instance.generation,
      stoppedMode: null,
      forceStop: 0,
      failure: null,
    };
    await this.change(instance, 'Running', isReboot ? 'Rebooted' : 'Started', values, settle);
    faults.reach('instance.startedInStore');
  }

  private async stop(instance: Instance): Promise<void> {
    const { faults } = this.options;
    await this.driverOf(instance).stopInstance(instance.id, instance.forceStop ? {} : { graceTimeoutMs });
    faults.reach('instance.stoppedOnHost');
    await this.change(instance, 'Stopped', 'Stopped', { forceStop: 0 });
    faults.reach('instance.stoppedInStore');
  }

  private async update(instance: Instance): Promise<void> {
    const { faults } = this.options;
    const settle = await this.configure(instance);
    const values = { appliedGeneration: instance.generation };
    await this.change(instance, instance.status, 'Updated', values, settle);
    faults.reach('instance.updatedInStore');
  }

  private async remove(instance: Instance): Promise<void> {
    const { parts, faults } = this.options;
    await this.driverOf(instance).deleteInstance(instance.id);
    faults.reach('instance.deletedOnHost');
    const forget = async (tx: Transaction): Promise<void> => {
      await releaseNetworkInterfaces(tx, instance.id);
      await releaseDisks(tx, instance.id);
      await releaseAll(tx, parts.placement, instance.id);
      await tx.db.deleteFrom('tags').where('resourceId', '=', instance.id).execute();
      await tx.db.deleteFrom('instances').where('id', '=', instance.id).execute();
      await tx.record({ resourceType: 'instance', resourceId: instance.id, action: 'Released' });
    };
    await parts.store.transaction(actor, forget, 'derived');
    faults.reach('instance.deletedInStore');
  }

  /**
   * What cannot work is ended cleanly: an instance that could not be created is released, one that could
   * not be started is Stopped with the reason kept. Everything else is thrown on, to be tried again.
   */
  private async handleFailure(instance: Instance, error: unknown): Promise<void> {
    const attempt = (this.attempts.get(instance.id) ?? 0) + 1;
    this.attempts.set(instance.id, attempt);
    const isFinal =
      error instanceof ComputeError &&
      error.reason !== 'unavailable' &&
      (attempt >= maxAttempts || ['refused', 'no-space', 'not-found'].includes(error.reason));
    if (!isFinal) throw error;

    const failure = error.message;
    this.options.log.error(
      { err: error, instanceId: instance.id, status: instance.status },
      'instance failed',
    );
    switch (instance.status) {
      case 'Pending':
        await this.change(instance, 'Deleted', 'CreationFailed', { failure }, async (tx) => {
          // Disks that came with it hold nothing yet.
          await tx.db
            .updateTable('disks')
            .set({ deleteWithInstance: 1 })
            .where('instanceId', '=', instance.id)
            .execute();
        });
        break;
      case 'Starting':
        await this.change(instance, 'Stopped', 'StartFailed', {
          failure,
          rebootsDone: instance.rebootsWanted,
        });
        break;
      case 'Stopping':
        // Nothing there to be stopped: that is stopped.
        if (error.reason !== 'not-found') throw error;
        await this.change(instance, 'Stopped', 'LostOnHost', { failure });
        break;
      case 'Running':
      case 'Stopped':
        // The change cannot be applied; the next start tries again with all of the configuration.
        await this.change(
          instance,
          instance.status,
          'UpdateFailed',
          { failure, appliedGeneration: instance.generation },
          async (tx) => {
            await giveUpPlugging(tx, instance.id);
            if (await giveUpDisks(tx, instance.id)) await wakeForPlugging(tx, instance.id);
          },
        );
        break;
      case 'Deleted':
        throw error;
    }
    this.attempts.delete(instance.id);
  }

  /**
   * Writes the outcome of a step, and in the same transaction what follows for the network interfaces.
   * Gives the row as it is then; `undefined` when it has gone meanwhile.
   */
  private async change(
    instance: Instance,
    status: InstanceStatus | ((current: Instance) => InstanceStatus),
    action: string,
    values: InstanceChange,
    settle?: SettleStep,
  ): Promise<Instance | undefined> {
    const work = async (tx: Transaction): Promise<Instance | undefined> => {
      const current = await tx.db
        .selectFrom('instances')
        .selectAll()
        .where('id', '=', instance.id)
        .executeTakeFirst();
      if (!current) return undefined;
      // A request may have moved a settled instance on meanwhile: its wish counts, not ours.
      const wanted = typeof status === 'function' ? status(current) : status;
      const to = current.status === instance.status ? wanted : current.status;
      assertTransition(current.status, to);
      await settle?.(tx);
      const changed = await tx.db
        .updateTable('instances')
        .set({ ...values, status: to })
        .where('id', '=', instance.id)
        .returningAll()
        .executeTakeFirstOrThrow();
      if (to === 'Stopped' && changed.stoppedMode === 'StopCharging') {
        await releaseCompute(tx, this.options.parts.placement, instance.id);
      }
      await this.recordChange(tx, instance, action, current.status, to, values.failure ?? undefined);
      if (needsWork(changed)) tx.wake({ kind: 'instance', id: instance.id });
      return changed;
    };
    return this.options.parts.store.transaction(actor, work, 'derived');
  }

  private async recordChange(
    tx: Transaction,
    instance: Instance,
    action: string,
    from: InstanceStatus,
    to: InstanceStatus,
    failure: string | undefined,
  ): Promise<void> {
    await tx.record({
      resourceType: 'instance',
      resourceId: instance.id,
      action,
      before: { status: from },
      after: { status: to, ...(failure === undefined ? {} : { failure }) },
    });
  }

  private async find(id: InstanceId): Promise<Instance | undefined> {
    return this.options.parts.store.reader
      .selectFrom('instances')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  private readSpec(instance: Instance): ReturnType<typeof readInstanceSpec> {
    const { parts, network } = this.options;
    return readInstanceSpec(parts, network.names, instance);
  }

  private driverOf(instance: Instance): ComputeDriver {
    const driver = this.options.computeDrivers.get(instance.hostId);
    if (!driver) throw new ComputeError('unavailable', `host ${instance.hostId} is not configured`);
    return driver;
  }
}

/** Whether a loop has something to do for an instance. The index `instancesUnsettled` says the same. */
export function needsWork(instance: {
  readonly status: InstanceStatus;
  readonly generation: number;
  readonly appliedGeneration: number;
}): boolean {
  switch (instance.status) {
    case 'Pending':
    case 'Starting':
    case 'Stopping':
    case 'Deleted':
      return true;
    case 'Running':
    case 'Stopped':
      return instance.generation !== instance.appliedGeneration;
  }
}
