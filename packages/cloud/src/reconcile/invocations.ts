import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import type { HostId, InvocationId } from '../domain/ids.js';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import type { FaultPoints } from './faults.js';

export interface InvocationLoopOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly faults: FaultPoints;
  readonly log: Logger;
}

/** Runs commands in instances. */
export class InvocationLoop {
  constructor(private readonly options: InvocationLoopOptions) {}
  async start(): Promise<void> {}
  add(_id: InvocationId): void {}
  async idle(): Promise<void> {}
  async stop(): Promise<void> {}
}
