import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { actions } from './actions/index.js';
import { Catalog } from './catalog/catalog.js';
import type { CloudParts } from './cloud.js';
import type { CloudConfig } from './config.js';
import { type FaultPoints, noFaults } from './domain/faults.js';
import type { HostId } from './domain/ids.js';
import type { ComputeDriver } from './drivers/compute/driver.js';
import type { NetworkDriver } from './drivers/network/driver.js';
import { MetadataServer } from './metadata/server.js';
import { StoreMetadataSource } from './metadata/storeSource.js';
import { ClusterModel } from './placement/index.js';
import { Reconciler } from './reconcile/reconciler.js';
import { type Credentials, getOrCreateRootKey, giveFirstNetwork } from './store/accounts.js';
import { listAllocations, listHosts } from './store/hosts.js';
import { Store } from './store/store.js';
import { FrontDoor } from './wire/frontDoor.js';
import { createListener } from './wire/listener.js';
import { WireMetrics } from './wire/metrics.js';

/** What makes a cloud. Everything that differs between a real and a fake one comes in from outside. */
export interface CloudOptions {
  /** Where the cloud keeps its state; readable by its owner only. */
  readonly dataDirectory: string;
  /** The state, where it had to be opened before. The cloud closes it. */
  readonly store?: Store;
  readonly config: CloudConfig;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly network: NetworkDriver;
  /** Whether instances are told about themselves, at the network's metadata endpoint. */
  readonly servesMetadata?: boolean;
  /** Loopback unless the operator asks for more. Port 0: any free one. */
  readonly listen?: { readonly host: string; readonly port: number };
  readonly log?: Logger;
  readonly faults?: FaultPoints;
}

/** A running cloud: the API in front, the loops behind. */
export class Cloud {
  private constructor(
    readonly endpoint: string,
    readonly credentials: Credentials,
    readonly credentialsFile: string,
    readonly parts: CloudParts,
    readonly reconciler: Reconciler,
    private readonly listener: FastifyInstance,
    private readonly metadata: MetadataServer | undefined,
  ) {}

  /** Opens the state, starts the loops, and answers requests once it returns. */
  static async start(options: CloudOptions): Promise<Cloud> {
    const log = options.log ?? pino({ level: 'silent' });
    const store = options.store ?? Store.open(options.dataDirectory);
    const credentials = await getOrCreateRootKey(store);
    const credentialsFile = join(options.dataDirectory, 'credentials.json');
    writeFileSync(credentialsFile, `${JSON.stringify(credentials, undefined, 2)}\n`, { mode: 0o600 });

    for (const region of options.config.regions) {
      await store.transaction({ name: 'start' }, (tx) =>
        giveFirstNetwork(tx, credentials.accountId, region, options.config),
      );
    }
    const catalog = new Catalog(options.config);
    const parts: CloudParts = {
      config: options.config,
      catalog,
      store,
      placement: ClusterModel.rebuild(
        await listHosts(store.reader, catalog.gpuModels),
        await listAllocations(store.reader),
      ),
    };
    const faults = options.faults ?? noFaults;
    const reconciler = new Reconciler({
      parts,
      computeDrivers: options.computeDrivers,
      network: options.network,
      log,
      faults,
    });
    const metrics = new WireMetrics();
    const listener = createListener({
      frontDoor: new FrontDoor({ cloud: parts, actions, log, metrics, faults }),
      metrics,
    });
    // Before the loops: an instance that boots asks at once.
    const metadata = options.servesMetadata
      ? await MetadataServer.start({
          source: new StoreMetadataSource(parts),
          endpoint: options.network.metadataEndpoint,
          directory: options.dataDirectory,
          log,
        })
      : undefined;
    await reconciler.start();
    const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 };
    const endpoint = await listener.listen({ host, port });
    return new Cloud(endpoint, credentials, credentialsFile, parts, reconciler, listener, metadata);
  }

  /** Stops answering, ends the loops after their present step, closes the state. Instances keep running. */
  async stop(): Promise<void> {
    await this.listener.close();
    await this.reconciler.stop();
    await this.metadata?.close();
    await this.parts.store.close();
  }
}
