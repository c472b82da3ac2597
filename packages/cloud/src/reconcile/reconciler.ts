import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import type { FaultPoints } from '../domain/faults.js';
import type { DiskId, HostId, ImageId, InstanceId, SnapshotId, VpcId } from '../domain/ids.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import type { NetworkDriver } from '../drivers/network/driver.js';
import type { Wake } from '../store/store.js';
import { releaseDueInstances, releaseDueSnapshots } from './autoRelease.js';
import { DiskLoop } from './disks.js';
import { ImageLoop } from './images.js';
import { InstanceLoop } from './instances.js';
import { InvocationLoop } from './invocations.js';
import { VpcNetworks } from './vpcNetworks.js';
import { WorkQueue } from './workQueue.js';

export interface ReconcilerOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly network: NetworkDriver;
  readonly log: Logger;
  readonly faults: FaultPoints;
}

/** More at once make a host slower, not faster (measured with ten starts on two cores). */
const maxRunningPerHost = 16;

/** An instance that the guest itself restarts is seen stopped for a moment; it is looked at again. */
const observeAgainMs = 2_000;

const releaseCheckMs = 5_000;

/** Everything that makes the world as the store says: one loop per kind of resource, fed by wake-ups. */
export class Reconciler {
  readonly networks: VpcNetworks;
  private readonly instanceLoop: InstanceLoop;
  private readonly instances: WorkQueue;
  private readonly diskLoop: DiskLoop;
  private readonly disks: WorkQueue;
  private readonly snapshots: WorkQueue;
  private readonly images: WorkQueue;
  private readonly vpcs: WorkQueue;
  private readonly observations: WorkQueue;
  private readonly hosts: WorkQueue;
  readonly invocations: InvocationLoop;
  private readonly hostOf = new Map<string, HostId>();
  private readonly watches = new Map<HostId, { close(): void }>();
  private stopWatching: (() => void)[] = [];
  private releaseTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: ReconcilerOptions) {
    const { parts, computeDrivers, network, log, faults } = options;
    this.networks = new VpcNetworks(parts, network, faults);
    this.diskLoop = new DiskLoop({ parts, computeDrivers, faults, log });
    this.instanceLoop = new InstanceLoop({
      parts,
      computeDrivers,
      network,
      networks: this.networks,
      disks: this.diskLoop,
      faults,
      log,
    });
    const onError = (kind: string) => (key: string, err: unknown, attempt: number) =>
      log.warn({ err, [kind]: key, attempt }, `${kind} could not be brought in line, trying again`);
    this.instances = new WorkQueue({
      work: (id) => this.instanceLoop.reconcile(id as InstanceId),
      groupOf: (id) => parts.placement.findAllocation(id)?.hostId ?? '',
      maxRunningPerGroup: maxRunningPerHost,
      onError: onError('instance'),
    });
    this.disks = new WorkQueue({
      work: (id) => this.diskLoop.reconcile(id as DiskId),
      groupOf: (id) => parts.placement.findAllocation(id)?.hostId ?? '',
      maxRunningPerGroup: maxRunningPerHost,
      onError: onError('disk'),
    });
    const imageLoop = new ImageLoop({ parts, computeDrivers, faults, log });
    this.images = new WorkQueue({
      work: (id) => imageLoop.reconcile(id as ImageId),
      // Each packs a whole root disk.
      maxRunningPerGroup: 2,
      onError: onError('image'),
    });
    this.snapshots = new WorkQueue({
      work: (id) => this.diskLoop.reconcileSnapshot(id as SnapshotId),
      maxRunningPerGroup: maxRunningPerHost,
      onError: onError('snapshot'),
    });
    this.vpcs = new WorkQueue({
      work: (id) => this.networks.apply(id as VpcId),
      maxRunningPerGroup: 4,
      onError: onError('vpc'),
    });
    this.observations = new WorkQueue({
      work: (id) => this.observe(id),
      maxRunningPerGroup: 4,
      onError: onError('observation'),
    });
    this.hosts = new WorkQueue({
      work: (id) => this.resyncHost(id as HostId),
      maxRunningPerGroup: 4,
      onError: onError('host'),
    });
    this.invocations = new InvocationLoop({ parts, computeDrivers, faults, log });
  }

  /** Starts the loops on everything that was left undone; does not wait for it to be done. */
  async start(): Promise<void> {
    const { parts, computeDrivers, log } = this.options;
    this.stopWatching.push(parts.store.onWake((wake) => this.wake(wake)));
    void this.networks.resync().then(
      ({ mended, failed }) => {
        if (mended.length > 0) log.warn({ mended }, 'networks mended');
        for (const id of failed) this.vpcs.add(id);
      },
      (err: unknown) => log.error({ err }, 'networks could not be compared'),
    );
    const unsettled = await parts.store.reader
      .selectFrom('instances')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('status', 'in', ['Pending', 'Starting', 'Stopping', 'Deleted']),
          eb('generation', '<>', eb.ref('appliedGeneration')),
          eb('rebootsWanted', '<>', eb.ref('rebootsDone')),
        ]),
      )
      .orderBy('sequence')
      .execute();
    for (const { id } of unsettled) this.instances.add(id);
    await this.startDisks();
    await this.invocations.start();
    for (const hostId of computeDrivers.keys()) this.watchHost(hostId);
    this.releaseTimer = setInterval(() => {
      for (const release of [releaseDueInstances, releaseDueSnapshots]) {
        release(parts.store).catch((err: unknown) => log.error({ err }, 'automatic release failed'));
      }
    }, releaseCheckMs);
  }

  /** Resolves when every loop has done what it knows to do. */
  async idle(): Promise<void> {
    // Instances and disks wake each other: twice, so that none has been woken behind our back.
    for (const _round of [1, 2]) for (const queue of this.queues) await queue.idle();
    await this.invocations.idle();
  }

  async stop(): Promise<void> {
    clearInterval(this.releaseTimer);
    for (const stop of this.stopWatching) stop();
    for (const hostId of [...this.watches.keys()]) this.unwatchHost(hostId);
    for (const queue of this.queues) await queue.stop();
    await this.invocations.stop();
  }

  /**
   * Follows a host: what happens on it is noted from now on, and all of it is compared with the store.
   * For a host that joins a running cloud; its driver must be among the cloud's. Twice is as once.
   */
  watchHost(hostId: HostId): void {
    const driver = this.options.computeDrivers.get(hostId);
    if (!driver || this.watches.has(hostId)) return;
    const watch = driver.watch((event) => {
      if (event.type === 'resync') {
        this.hosts.add(hostId);
      } else {
        this.hostOf.set(event.instanceName, hostId);
        this.observations.add(event.instanceName);
      }
    });
    this.watches.set(hostId, watch);
  }

  /** Lets go of a host that leaves. */
  unwatchHost(hostId: HostId): void {
    this.watches.get(hostId)?.close();
    this.watches.delete(hostId);
  }

  private get queues(): readonly WorkQueue[] {
    return [
      this.hosts,
      this.observations,
      this.disks,
      this.instances,
      this.disks,
      this.snapshots,
      this.images,
      this.vpcs,
    ];
  }

  private async startDisks(): Promise<void> {
    const { reader } = this.options.parts.store;
    const disks = await reader
      .selectFrom('disks')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('status', 'in', ['Creating', 'ReIniting', 'Deleted']),
          eb('sizeGiB', '<>', eb.ref('appliedSizeGiB')),
          eb('oldestVersion', '<', eb.ref('volumeVersion')),
        ]),
      )
      .execute();
    const snapshots = await reader
      .selectFrom('snapshots')
      .select(['id', 'diskId', 'status'])
      .where('status', 'in', ['progressing', 'Deleted'])
      .execute();
    const images = await reader
      .selectFrom('images')
      .select('id')
      .where('status', 'in', ['Creating', 'Deleted'])
      .execute();
    for (const { id } of images) this.images.add(id);
    for (const { id } of disks) this.disks.add(id);
    for (const { id, diskId, status } of snapshots) {
      if (status === 'Deleted') this.snapshots.add(id);
      else this.disks.add(diskId);
    }
  }

  private wake(wake: Wake): void {
    switch (wake.kind) {
      case 'instance':
        this.instances.add(wake.id);
        return;
      case 'vpc':
        this.networks.noteVpc(wake.id);
        this.vpcs.add(wake.id);
        return;
      case 'networkInterface':
        this.networks.notePort(wake.vpcId, wake.id);
        this.vpcs.add(wake.vpcId);
        return;
      case 'disk':
        this.disks.add(wake.id);
        return;
      case 'image':
        this.images.add(wake.id);
        return;
      case 'snapshot':
        this.snapshots.add(wake.id);
        return;
      case 'invocation':
        this.invocations.add(wake.id);
        return;
    }
  }

  /** The engine said that an instance changed: a guest that shut itself down shall be shown as Stopped. */
  private async observe(instanceName: string): Promise<void> {
    const hostId = this.hostOf.get(instanceName);
    const driver = hostId && this.options.computeDrivers.get(hostId);
    if (!driver) return;
    const row = await this.options.parts.store.reader
      .selectFrom('instances')
      .select('status')
      .where('id', '=', instanceName as InstanceId)
      .executeTakeFirst();
    if (row?.status !== 'Running') return;
    if ((await driver.findInstance(instanceName))?.status === 'running') return;
    await new Promise((resolve) => setTimeout(resolve, observeAgainMs).unref());
    await this.instanceLoop.observe(instanceName as InstanceId, await driver.findInstance(instanceName));
  }

  /**
   * Compares all of a host with the store, after a start or when events may have been missed: instances
   * that should run and do not (the host was rebooted) are started, unknown ones are removed.
   */
  private async resyncHost(hostId: HostId): Promise<void> {
    const { parts, computeDrivers, log } = this.options;
    const driver = computeDrivers.get(hostId);
    if (!driver) return;
    const observed = new Map((await driver.listInstances()).map((instance) => [instance.name, instance]));
    const rows = await parts.store.reader
      .selectFrom('instances')
      .select(['id', 'status', 'created'])
      .where('hostId', '=', hostId)
      .execute();
    const known = new Set<string>(rows.map((row) => row.id));
    for (const name of observed.keys()) {
      if (known.has(name)) continue;
      log.warn({ hostId, instanceName: name }, 'removing an instance that nobody owns');
      await driver.deleteInstance(name);
    }
    // After the instances: a volume that one of them has cannot be removed.
    await this.diskLoop.resyncHost(hostId, driver);
    for (const row of rows) {
      if (row.status !== 'Running') continue;
      const instance = observed.get(row.id);
      if (!instance) await this.instanceLoop.observe(row.id, undefined);
      else if (instance.status !== 'running') await this.instanceLoop.restartAfterHostReboot(row.id);
    }
  }
}
