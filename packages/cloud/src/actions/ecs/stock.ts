import type { InstanceType } from '../../catalog/instanceTypes.js';
import type { CloudParts } from '../../cloud.js';
import type { ZoneId } from '../../domain/ids.js';
import { claimOf } from '../../store/claim.js';

/** The system disk that stock is told for. */
const usualSystemDiskGiB = 40;

/** Whether a host of the zone has room for an instance of the type now. */
export function isInStock(cloud: CloudParts, type: InstanceType, zoneId: ZoneId): boolean {
  const { request } = claimOf(cloud, type, usualSystemDiskGiB);
  return cloud.placement.hasRoom({ ...request, zoneId });
}

/** The types of which the zone could start an instance now, in the order of the catalogue. */
export function listTypesInStock(cloud: CloudParts, zoneId: ZoneId): InstanceType[] {
  return [...cloud.catalog.instanceTypes.values()].filter((type) => isInStock(cloud, type, zoneId));
}
