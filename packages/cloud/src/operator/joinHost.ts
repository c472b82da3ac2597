import type { CloudConfig } from '../config.js';
import { overcommitShape } from '../config.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import { ComputeError } from '../drivers/compute/driver.js';
import { EngineClient } from '../drivers/compute/lxd/EngineClient.js';
import { trustServer } from './engineTrust.js';
import type { EngineKind } from './hostPlan.js';
import { HostError, type HostRegistry } from './hostRegistry.js';
import { endpointOf, type LxdEngine } from './openDriver.js';
import type { HostDescription } from './operatorApi.js';
import type { JoinRequest } from './operatorServer.js';

export interface HostJoinerOptions {
  /** Instances of the fake engine have no networks that a real host could join. */
  readonly kind: EngineKind;
  readonly dataDirectory: string;
  readonly config: CloudConfig;
  readonly hosts: HostRegistry;
}

/** Takes further engines into a running cloud: by socket, or by URL with a trust token. */
export class HostJoiner {
  constructor(private readonly options: HostJoinerOptions) {}

  async join(request: JoinRequest): Promise<HostDescription> {
    const { config, hosts, dataDirectory, kind } = this.options;
    if (kind === 'fake') throw new HostError('HostInvalid', 'a cloud on the fake engine takes no real hosts');
    const region = config.regions.find((each) => !request.zone || each.zones.includes(request.zone));
    const zone = request.zone ?? region?.zones[0];
    if (!region || !zone) throw new HostError('HostInvalid', `no region has the zone "${request.zone}"`);
    if ((request.socket === undefined) === (request.token === undefined)) {
      throw new HostError('HostInvalid', 'a host needs a socket, or a trust token of its engine');
    }
    const common = {
      driver: 'lxd',
      pool: request.pool ?? 'default',
      project: request.project ?? 'openegs',
    } as const;
    let engine: LxdEngine;
    if (request.token === undefined) {
      engine = { ...common, ...(request.socket === undefined ? {} : { socket: request.socket }) };
    } else {
      const { token, url } = request;
      engine = { ...common, ...(await trustServer({ dataDirectory, hostId: request.id, token, url })) };
    }
    await ensureProject(engine);
    return hosts.add({
      id: request.id as HostId,
      regionId: region.id as RegionId,
      zoneId: zone as ZoneId,
      endpoint: { origin: 'operator', engine, overcommit: overcommitShape.parse({}), gpus: [] },
    });
  }
}

/** A project of our own on the server, so that what else lives there is neither seen nor touched. */
async function ensureProject(engine: LxdEngine): Promise<void> {
  const client = new EngineClient(endpointOf(engine));
  try {
    await client
      .call('GET', `/1.0/projects/${encodeURIComponent(engine.project)}`)
      .catch((error: unknown) => {
        if (!(error instanceof ComputeError && error.reason === 'not-found')) throw error;
        const config = {
          'features.images': 'true',
          'features.profiles': 'true',
          'features.storage.volumes': 'true',
        };
        const body = { name: engine.project, description: 'OpenEGS', config };
        return client.call('POST', '/1.0/projects', { body });
      });
  } catch (error) {
    throw new HostError('HostUnreachable', error instanceof Error ? error.message : String(error));
  } finally {
    await client.close();
  }
}
