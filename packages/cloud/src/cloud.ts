import type { Catalog } from './catalog/catalog.js';
import type { CloudConfig } from './config.js';
import type { ClusterModel } from './placement/index.js';
import type { Store } from './store/store.js';

/** The parts of a cloud that actions and loops work with. Two clouds in one process share nothing. */
export interface CloudParts {
  readonly config: CloudConfig;
  readonly catalog: Catalog;
  readonly store: Store;
  /** What is free on every host: the ledger, in memory. */
  readonly placement: ClusterModel;
}
