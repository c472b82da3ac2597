import type { EngineName } from './flavor.js';

/** Names in an engine that belong to the cloud. */
export const projectName = 'openegs';
export const poolName = 'openegs';

/** An engine that is ready for a compute driver. */
export interface Engine {
  readonly flavor: EngineName;
  readonly socketPath: string;
  readonly project: string;
  readonly pool: string;
}
