import { type CloudConfig, ConfigError, type RegionConfig } from '../config.js';
import type { RegionId, ZoneId } from '../domain/ids.js';
import { GpuModels } from './gpuModels.js';
import { type PublicImage, publicImages } from './images.js';
import { type InstanceType, readInstanceTypes } from './instanceTypes.js';

/** What the cloud offers: data with look-ups, the same for every account. */
export class Catalog {
  readonly instanceTypes: ReadonlyMap<string, InstanceType>;
  readonly images: ReadonlyMap<string, PublicImage>;
  readonly regions: readonly RegionConfig[];
  readonly gpuModels: GpuModels;

  constructor(config: CloudConfig) {
    this.regions = config.regions;
    this.instanceTypes = new Map(readInstanceTypes().map((type) => [type.id, type]));
    this.images = new Map(publicImages.map((image) => [image.id, image]));
    this.gpuModels = new GpuModels(this.instanceTypes.values(), config.gpuModels);
    for (const [product, model] of Object.entries(config.gpuModels)) {
      if (!this.gpuModels.models.has(model)) {
        throw new ConfigError(`gpuModels.${product}: no instance type has "${model}"`);
      }
    }
  }

  /** @throws Error for a region that the configuration does not have. */
  getRegion(id: RegionId): RegionConfig {
    const region = this.regions.find((each) => each.id === id);
    if (!region) throw new Error(`no region ${id}`);
    return region;
  }

  hasZone(regionId: RegionId, zoneId: string): zoneId is ZoneId {
    return this.getRegion(regionId).zones.includes(zoneId);
  }

  /** @throws Error for a zone that no region has. */
  getRegionOfZone(zoneId: ZoneId): RegionConfig {
    const region = this.regions.find((each) => each.zones.includes(zoneId));
    if (!region) throw new Error(`no zone ${zoneId}`);
    return region;
  }
}
