export * from './clusterModel.js';
export * from './deploymentSet.js';
export type { CardVerdict, HostVerdict } from './explanation.js';
export type { CardMisfit, HostMisfit } from './filter.js';
export { FragmentationPolicy } from './fragmentationPolicy.js';
export * from './host.js';
export { CapacityError, type CardUsage, type HostUsage } from './hostUsage.js';
export * from './policy.js';
export * from './request.js';
