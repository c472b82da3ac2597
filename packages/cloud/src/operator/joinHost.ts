import type { CloudConfig } from '../config.js';
import { overcommitShape } from '../config.js';
import type { HostId, RegionId, ZoneId } from '../domain/ids.js';
import { trustServer } from './engineTrust.js';
import type { HostEndpoint } from './hostPlan.js';
import { HostError, type HostRegistry } from './hostRegistry.js';
import type { HostDescription } from './operatorApi.js';
import type { JoinRequest } from './operatorServer.js';

export interface HostJoinerOptions {
  readonly dataDirectory: string;
  readonly config: CloudConfig;
  readonly hosts: HostRegistry;
}

/** Takes further engines into a running cloud: by socket, or by URL with a trust token. */
export class HostJoiner {
  constructor(private readonly options: HostJoinerOptions) {}

  async join(request: JoinRequest): Promise<HostDescription> {
    const { config, hosts, dataDirectory } = this.options;
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
    let engine: HostEndpoint['engine'];
    if (request.token === undefined) {
      engine = { ...common, ...(request.socket === undefined ? {} : { socket: request.socket }) };
    } else {
      const { token, url } = request;
      engine = { ...common, ...(await trustServer({ dataDirectory, hostId: request.id, token, url })) };
    }
    return hosts.add({
      id: request.id as HostId,
      regionId: region.id as RegionId,
      zoneId: zone as ZoneId,
      endpoint: { origin: 'operator', engine, overcommit: overcommitShape.parse({}) },
    });
  }
}
