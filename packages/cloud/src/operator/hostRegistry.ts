import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { GpuModels } from '../catalog/gpuModels.js';
import type { CloudParts } from '../cloud.js';
import { noGpus } from '../domain/gpu.js';
import type { HostId } from '../domain/ids.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import type { Host, HostState } from '../placement/index.js';
import type { Reconciler } from '../reconcile/reconciler.js';
import {
  countTenantsByHost,
  type HostRecord,
  listHostRecords,
  parseInventory,
  putHost,
  setHostState,
} from '../store/hosts.js';
import type { Store, Transaction } from '../store/store.js';
import { HostGpus } from './hostGpus.js';
import { capacityOf, type PlannedHost, parseHostEndpoint } from './hostPlan.js';
import { type DriverContext, openDriver } from './openDriver.js';
import type { HostDescription } from './operatorApi.js';

export interface HostRegistryOptions extends DriverContext {
  readonly store: Store;
  readonly log: Logger;
  readonly gpuModels: GpuModels;
  /** Files of the images that every host must have, by alias. Fake hosts have all images. */
  readonly images: ReadonlyMap<string, { readonly metadata: string; readonly rootfs: string }>;
}

/** The operator asked for something that cannot be done now; the message says why. */
export class HostError extends Error {
  override readonly name = 'HostError';
  constructor(
    readonly code: 'HostNotFound' | 'HostExists' | 'HostHasInstances' | 'HostUnreachable' | 'HostInvalid',
    message: string,
  ) {
    super(message);
  }
}

const actor = { name: 'operator' };

/** A host that does not answer is tried again after this time. */
const retryMs = 3_000;

/** How often hosts are asked whether they are there. */
const checkIntervalMs = 10_000;

/** A host that has not answered after this time is not there. */
const checkTimeoutMs = 5_000;

/** Cards are looked at each so many checks: it costs the host a little. */
const checksPerGpuReading = 6;

/** How long a start waits for hosts; those that answer later join later. */
const startWaitMs = 5_000;

/**
 * The hosts of a cloud: which there shall be, which answer, and their drivers. It keeps the store, the
 * placement model and the loops in step when a host comes, drains or goes.
 */
export class HostRegistry {
  /** Drivers of the hosts that answer. */
  readonly drivers = new Map<HostId, ComputeDriver>();
  private readonly closing = new AbortController();
  private readonly connecting = new Map<HostId, AbortController>();
  private cloud: { readonly parts: CloudParts; readonly reconciler: Reconciler } | undefined;

  private readonly gpus: HostGpus;
  /** Hosts that answered before and do not now. */
  private readonly silent = new Set<HostId>();

  constructor(private readonly options: HostRegistryOptions) {
    this.gpus = new HostGpus(options);
  }

  /** Brings the store in line with the planned hosts, and connects to all that there are. */
  async start(planned: readonly PlannedHost[]): Promise<void> {
    const { store } = this.options;
    const plannedIds = new Set<string>(planned.map((host) => host.id));
    await store.transaction(actor, async (tx) => {
      const known = new Map(
        (await tx.db.selectFrom('hosts').selectAll().execute()).map((row) => [
          row.id,
          { ...row, gpus: parseInventory(row.gpus) },
        ]),
      );
      const used = await countTenantsByHost(tx.db);
      for (const host of planned) {
        const row = known.get(host.id);
        await putPlannedHost(tx, host, row);
        const wasGone =
          row?.state === 'removed' || (row && parseHostEndpoint(row.endpoint).origin === 'orphan');
        if (wasGone) await setHostState(tx, host.id, 'active');
      }
      for (const row of known.values()) {
        const endpoint = parseHostEndpoint(row.endpoint);
        if (row.state === 'removed' || plannedIds.has(row.id) || endpoint.origin === 'operator') continue;
        if (used.has(row.id)) {
          await putPlannedHost(tx, { ...row, endpoint: { ...endpoint, origin: 'orphan' } }, row);
          await setHostState(tx, row.id, 'draining');
        } else {
          await setHostState(tx, row.id, 'removed');
        }
      }
    });
    const records = await listHostRecords(store.reader);
    const connected = Promise.all(records.map((record) => this.keepConnecting(record)));
    const waited = new AbortController();
    const { signal } = waited;
    await Promise.race([connected, delay(startWaitMs, undefined, { signal }).catch(() => undefined)]);
    waited.abort();
  }

  /** Follows the cloud from now on: hosts that join or leave are told to its placement and its loops. */
  async attach(parts: CloudParts, reconciler: Reconciler): Promise<void> {
    this.cloud = { parts, reconciler };
    for (const record of await listHostRecords(this.options.store.reader)) this.publish(record);
    void this.watch();
  }

  /** Reads the cards of all hosts that answer, and tells placement which are there and well. */
  async refreshGpus(): Promise<void> {
    for (const [hostId, driver] of this.drivers) await this.refreshHostGpus(hostId, driver);
  }

  private async refreshHostGpus(hostId: HostId, driver: ComputeDriver): Promise<void> {
    await this.gpus.update(await this.getRecord(hostId), driver);
    // It may have been drained meanwhile.
    this.publish(await this.getRecord(hostId));
  }

  async describe(): Promise<HostDescription[]> {
    const { reader } = this.options.store;
    const used = await countTenantsByHost(reader);
    return (await listHostRecords(reader)).map((record) =>
      this.describeRecord(record, used.get(record.id)?.instances ?? 0),
    );
  }

  async get(id: string): Promise<HostDescription> {
    const found = (await this.describe()).find((host) => host.id === id);
    if (!found) throw new HostError('HostNotFound', `there is no host "${id}"`);
    return found;
  }

  /** Adds a host to the running cloud, for good. Its engine must answer. */
  async add(host: PlannedHost): Promise<HostDescription> {
    const { store } = this.options;
    if ((await listHostRecords(store.reader)).some((record) => record.id === host.id)) {
      throw new HostError('HostExists', `there is a host "${host.id}" already`);
    }
    const driver = await openDriver(host.id, host.endpoint, this.options).catch((error: unknown) => {
      throw new HostError('HostUnreachable', error instanceof Error ? error.message : String(error));
    });
    await store.transaction(actor, async (tx) => {
      await putPlannedHost(tx, host, undefined);
      await setHostState(tx, host.id, 'active');
    });
    await this.enter(host.id, driver);
    return this.get(host.id);
  }

  /** The host takes nothing new; what it runs goes on. */
  async drain(id: string): Promise<HostDescription> {
    return this.setState(id, 'draining');
  }

  /** The host takes new instances again. */
  async activate(id: string): Promise<HostDescription> {
    return this.setState(id, 'active');
  }

  /** Forgets a host that holds no instances. One from the configuration file comes back at the next start. */
  async remove(id: string): Promise<void> {
    const { id: hostId } = await this.getRecord(id);
    await this.options.store.transaction(actor, async (tx) => {
      const held = (await countTenantsByHost(tx.db)).get(hostId);
      if (held) {
        const what = `${held.instances} instances and ${held.volumes} data disks, snapshots and images`;
        throw new HostError('HostHasInstances', `${what} are on "${id}": release them first`);
      }
      await setHostState(tx, hostId, 'removed');
    });
    this.connecting.get(hostId)?.abort();
    this.cloud?.parts.placement.removeHost(hostId);
    this.cloud?.reconciler.unwatchHost(hostId);
    await this.drivers.get(hostId)?.close();
    this.drivers.delete(hostId);
    this.silent.delete(hostId);
  }

  async close(): Promise<void> {
    this.closing.abort();
    for (const driver of this.drivers.values()) await driver.close();
  }

  private async getRecord(id: string): Promise<HostRecord> {
    const found = (await listHostRecords(this.options.store.reader)).find((record) => record.id === id);
    if (!found) throw new HostError('HostNotFound', `there is no host "${id}"`);
    return found;
  }

  private async setState(id: string, state: 'active' | 'draining'): Promise<HostDescription> {
    const record = await this.getRecord(id);
    await this.options.store.transaction(actor, (tx) => setHostState(tx, record.id, state));
    this.publish({ ...record, state });
    return this.get(id);
  }

  /** Tries until the host answers or is not wanted any more. */
  private async keepConnecting(record: HostRecord): Promise<void> {
    const { log } = this.options;
    const ended = new AbortController();
    this.connecting.set(record.id, ended);
    const signal = AbortSignal.any([this.closing.signal, ended.signal]);
    while (!signal.aborted) {
      try {
        const driver = await openDriver(record.id, parseHostEndpoint(record.endpoint), this.options);
        if (signal.aborted) await driver.close();
        else await this.enter(record.id, driver);
        break;
      } catch (err) {
        log.warn({ err, hostId: record.id }, 'host does not answer, trying again');
        await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
    this.connecting.delete(record.id);
  }

  /** Lets a host that answers take part: with all images, and with what it really has. */
  private async enter(hostId: HostId, driver: ComputeDriver): Promise<void> {
    const { store, images } = this.options;
    try {
      if (driver.capabilities.engine !== 'fake') {
        // Also where there is one of that name: it may have been built by an older recipe.
        for (const [alias, files] of images) await driver.importImage(alias, files);
      }
      const resources = await driver.getResources();
      const record = await this.getRecord(hostId);
      const endpoint = parseHostEndpoint(record.endpoint);
      const capacity = capacityOf(resources, endpoint.overcommit);
      const isKnown = Object.entries(capacity).every(([name, value]) => Reflect.get(record, name) === value);
      const host = { ...record, ...capacity };
      if (!isKnown) await store.transaction(actor, (tx) => putHost(tx, host));
      const current = await this.gpus.update(host, driver);
      this.drivers.set(hostId, driver);
      this.publish(current);
    } catch (error) {
      await driver.close();
      throw error;
    }
  }

  /**
   * Asks each host whether it is there. One that is not takes nothing new, and what runs on it is left alone,
   * until it answers again.
   */
  async checkHosts(): Promise<void> {
    const checks = Array.from(this.drivers, async ([hostId, driver]) => {
      const answers = await answersInTime(driver);
      if (answers !== this.silent.has(hostId)) return;
      if (answers) this.silent.delete(hostId);
      else this.silent.add(hostId);
      this.options.log.warn({ hostId, answers }, answers ? 'host answers again' : 'host does not answer');
      this.publish(await this.getRecord(hostId));
    });
    await Promise.all(checks);
  }

  private async watch(): Promise<void> {
    const { signal } = this.closing;
    for (let check = 1; !signal.aborted; check += 1) {
      await delay(checkIntervalMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.checkHosts().catch((err: unknown) => this.options.log.error({ err }, 'hosts not checked'));
      if (check % checksPerGpuReading !== 0) continue;
      for (const [hostId, driver] of this.drivers) {
        if (driver.capabilities.engine === 'fake' || this.silent.has(hostId)) continue;
        await this.refreshHostGpus(hostId, driver).catch((err: unknown) =>
          this.options.log.error({ err, hostId }, 'cards were not looked at'),
        );
      }
    }
  }

  private isReachable(hostId: HostId): boolean {
    return this.drivers.has(hostId) && !this.silent.has(hostId);
  }

  private publish(record: HostRecord): void {
    if (!this.cloud) return;
    const isReachable = this.isReachable(record.id);
    const state = record.state === 'draining' ? 'draining' : isReachable ? 'active' : 'lost';
    this.cloud.parts.placement.putHost(toHost(record, state, this.options.gpuModels));
    if (isReachable) this.cloud.reconciler.watchHost(record.id);
  }

  private describeRecord(record: HostRecord, instances: number): HostDescription {
    const endpoint = parseHostEndpoint(record.endpoint);
    const driver = this.drivers.get(record.id);
    const { engine } = endpoint;
    const usage = this.cloud?.parts.placement.findHost(record.id);
    return {
      id: record.id,
      regionId: record.regionId,
      zoneId: record.zoneId,
      state: this.isReachable(record.id)
        ? record.state === 'draining'
          ? 'draining'
          : 'active'
        : 'unreachable',
      origin: endpoint.origin,
      engine: driver ? `${driver.capabilities.engine} ${driver.capabilities.engineVersion}` : engine.driver,
      address: engine.driver === 'fake' ? '' : (engine.socket ?? engine.url ?? ''),
      instances,
      offered: amountsOf(record),
      free: amountsOf(usage?.free ?? record),
    };
  }
}

async function answersInTime(driver: ComputeDriver): Promise<boolean> {
  const ended = new AbortController();
  const late = delay(checkTimeoutMs, false, { signal: ended.signal, ref: false }).catch(() => false);
  // The cheapest question that every engine answers: there is no such instance.
  const answer = driver.findInstance('egs-check').then(
    () => true,
    () => false,
  );
  const answers = await Promise.race([answer, late]);
  ended.abort();
  return answers;
}

function amountsOf(amounts: Pick<HostRecord, 'cpuMilli' | 'memoryMiB' | 'diskGiB'>): HostDescription['free'] {
  return { vcpus: amounts.cpuMilli / 1000, memoryMiB: amounts.memoryMiB, diskGiB: amounts.diskGiB };
}

function toHost(record: HostRecord, state: HostState, gpuModels: GpuModels): Host {
  const { id, zoneId, cpuMilli, memoryMiB, diskGiB, gpus } = record;
  return { id, zoneId, cpuMilli, memoryMiB, diskGiB, state, ...gpuModels.offer(gpus) };
}

/** What the host has is known once it answers; until then what it had the last time, or nothing. */
async function putPlannedHost(
  tx: Transaction,
  host: PlannedHost,
  before: Partial<Pick<HostRecord, 'cpuMilli' | 'memoryMiB' | 'diskGiB' | 'gpus'>> | undefined,
): Promise<void> {
  const { cpuMilli = 0, memoryMiB = 0, diskGiB = 0, gpus = noGpus } = before ?? {};
  await putHost(tx, {
    id: host.id,
    regionId: host.regionId,
    zoneId: host.zoneId,
    cpuMilli,
    memoryMiB,
    diskGiB,
    gpus,
    endpoint: JSON.stringify(host.endpoint),
  });
}
