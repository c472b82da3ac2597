export {
  type ConfiguredCloud,
  type ConfiguredCloudOptions,
  removeNetworks,
  startConfiguredCloud,
} from './compose.js';
export { type CloudConfig, ConfigError, type HostConfig, parseConfig, readConfig } from './config.js';
export { faultPointNames, killAt } from './domain/faults.js';
export { createLog } from './log.js';
export type { EngineKind, LocalEngine } from './operator/hostPlan.js';
export { Cloud, type CloudOptions } from './server.js';
export { DataInUseError } from './store/dataLock.js';
