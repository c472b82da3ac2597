import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { publicImages } from '../catalog/images.js';
import { ConfigError } from '../config.js';
import type { HostId } from '../domain/ids.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import { FakeComputeDriver } from '../drivers/compute/fake/FakeComputeDriver.js';
import type { EngineEndpoint } from '../drivers/compute/lxd/EngineClient.js';
import { LxdComputeDriver } from '../drivers/compute/lxd/LxdComputeDriver.js';
import type { HostEndpoint } from './hostPlan.js';

export interface DriverContext {
  readonly dataDirectory: string;
  /** Marks what is this cloud's on an engine that serves others too. */
  readonly cloudId: string;
}

export type LxdEngine = Extract<HostEndpoint['engine'], { driver: 'lxd' }>;

/** Connects to a host's engine. Rejects with a `ComputeError` when it does not answer. */
export async function openDriver(
  hostId: HostId,
  { engine }: HostEndpoint,
  context: DriverContext,
): Promise<ComputeDriver> {
  switch (engine.driver) {
    case 'fake': {
      const directory = join(context.dataDirectory, 'fake-engine');
      await mkdir(directory, { recursive: true, mode: 0o700 });
      return new FakeComputeDriver({
        hostId,
        file: join(directory, `${hostId}.sqlite`),
        images: publicImages.map((image) => image.alias),
        resources: {
          vcpus: engine.vcpus,
          memoryMiB: engine.memoryGiB * 1024,
          storageGiB: engine.diskGiB,
        },
      });
    }
    case 'lxd':
      return LxdComputeDriver.connect({
        hostId,
        endpoint: endpointOf(engine),
        project: engine.project,
        pool: engine.pool,
        cloud: context.cloudId,
      });
  }
}

/** @throws ConfigError for an endpoint that is neither a socket nor a URL with its three files. */
export function endpointOf(engine: LxdEngine): EngineEndpoint {
  if (engine.socket !== undefined) return { kind: 'unix', socketPath: engine.socket };
  const { url, certificateFile, keyFile, serverCertificateFile } = engine;
  if (!url || !certificateFile || !keyFile || !serverCertificateFile) {
    throw new ConfigError('a url needs certificateFile, keyFile and serverCertificateFile');
  }
  return {
    kind: 'https',
    url,
    clientCertificate: readFileSync(certificateFile, 'utf8'),
    clientKey: readFileSync(keyFile, 'utf8'),
    serverCertificate: readFileSync(serverCertificateFile, 'utf8'),
  };
}
