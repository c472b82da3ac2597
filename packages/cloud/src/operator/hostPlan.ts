import { z } from 'zod';
import {
  type CloudConfig,
  ConfigError,
  declaredCardsShape,
  engineShape,
  overcommitShape,
  type RegionConfig,
} from '../config.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import type { HostResources } from '../drivers/compute/driver.js';
import type { Amounts } from '../placement/index.js';

/** How the cloud reaches a host, and where it knows it from. The store keeps this as JSON. */
const endpointShape = z.strictObject({
  /**
   * `config`: named in the configuration file, or the default. `operator`: added while the cloud ran.
   * `orphan`: no longer in the file, but still with instances.
   */
  origin: z.enum(['config', 'operator', 'orphan']),
  engine: engineShape,
  overcommit: overcommitShape,
  /** Cards that the operator declares; without any, those that are found. */
  gpus: z.array(declaredCardsShape).default([]),
});

export type HostEndpoint = z.infer<typeof endpointShape>;

export function parseHostEndpoint(text: string): HostEndpoint {
  return endpointShape.parse(JSON.parse(text));
}

/** A host that the cloud shall have. */
export interface PlannedHost {
  readonly id: HostId;
  readonly regionId: RegionId;
  readonly zoneId: ZoneId;
  readonly endpoint: HostEndpoint;
}

/** The kind of engine behind a cloud: real instances, or instances in memory. */
export type EngineKind = 'lxd' | 'fake';

/** The engine that serves a cloud without configured hosts. */
export interface LocalEngine {
  readonly socketPath: string;
  readonly project: string;
  readonly pool: string;
}

/** So large that a test never fills it. */
const defaultFakeEngine = { driver: 'fake', vcpus: 10_000, memoryGiB: 100_000, diskGiB: 1_000_000 } as const;

/**
 * The hosts that a configuration names, counted ones one by one. Without any, the default: the engine of
 * this machine, or a fake host in each zone.
 * @throws ConfigError when a host cannot be had with this kind of engine.
 */
export function planHosts(
  config: CloudConfig,
  kind: EngineKind,
  localEngine: LocalEngine | undefined,
): PlannedHost[] {
  const places = config.regions.flatMap((region) => region.zones.map((zone) => placeOf(region, zone)));
  const [firstPlace] = places;
  if (!firstPlace) throw new ConfigError('regions: at least one with a zone is needed');
  const overcommit = overcommitShape.parse({});

  if (config.hosts.length === 0 && kind === 'fake') {
    return places.map((place, index) => ({
      ...place,
      id: `fake-${index + 1}` as HostId,
      endpoint: { origin: 'config', engine: defaultFakeEngine, overcommit, gpus: [] },
    }));
  }
  if (config.hosts.length === 0) {
    const engine = resolveEngine(
      { driver: 'lxd', pool: 'default', project: 'openegs' },
      localEngine,
      'hosts',
    );
    const endpoint: HostEndpoint = { origin: 'config', engine, overcommit, gpus: [] };
    return [{ ...firstPlace, id: 'local' as HostId, endpoint }];
  }
  return config.hosts.flatMap((host, index) => {
    if (host.engine.driver === 'lxd' && kind === 'fake') {
      throw new ConfigError(`hosts.${index}.engine.driver: a cloud on the fake engine has fake hosts only`);
    }
    const engine = resolveEngine(host.engine, localEngine, `hosts.${index}.engine`);
    const endpoint: HostEndpoint = { origin: 'config', engine, overcommit: host.overcommit, gpus: host.gpus };
    return Array.from({ length: host.count }, (_, number) => ({
      ...(places.find((place) => place.zoneId === host.zone) ?? places[number % places.length] ?? firstPlace),
      id: (host.count === 1 ? host.id : `${host.id}-${number + 1}`) as HostId,
      endpoint,
    }));
  });
}

function placeOf(region: RegionConfig, zone: string): { regionId: RegionId; zoneId: ZoneId } {
  return { regionId: region.id as RegionId, zoneId: zone as ZoneId };
}

/** An `lxd` engine without address is the one of this machine. */
function resolveEngine(
  engine: HostEndpoint['engine'],
  localEngine: LocalEngine | undefined,
  place: string,
): HostEndpoint['engine'] {
  if (engine.driver !== 'lxd' || engine.socket !== undefined || engine.url !== undefined) return engine;
  if (!localEngine) throw new ConfigError(`${place}: no socket or url, and no engine was set up here`);
  const { socketPath, pool, project } = localEngine;
  return { ...engine, socket: socketPath, pool, project };
}

/** What a host may promise to instances: what it has, times the operator's ratios. */
export function capacityOf(resources: HostResources, overcommit: HostEndpoint['overcommit']): Amounts {
  return {
    cpuMilli: Math.floor(resources.vcpus * 1000 * overcommit.cpu),
    memoryMiB: Math.floor(resources.memoryMiB * overcommit.memory),
    diskGiB: Math.floor(resources.storageGiB * overcommit.disk),
  };
}
