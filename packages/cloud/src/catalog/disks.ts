/** A kind of cloud disk, with the sizes in which it comes (DescribeAvailableResource, CreateDisk). */
export interface DiskCategory {
  readonly id: string;
  readonly systemGiB: { readonly min: number; readonly max: number };
  readonly dataGiB: { readonly min: number; readonly max: number };
}

/** All categories are served from the host's storage pool; they differ in their documented limits. */
export const diskCategories: readonly DiskCategory[] = [
  { id: 'cloud_essd', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 1, max: 65_536 } },
  { id: 'cloud_essd_entry', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 10, max: 32_768 } },
  { id: 'cloud_auto', systemGiB: { min: 1, max: 2048 }, dataGiB: { min: 1, max: 65_536 } },
  { id: 'cloud_ssd', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 20, max: 32_768 } },
  { id: 'cloud_efficiency', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 20, max: 32_768 } },
  { id: 'cloud', systemGiB: { min: 20, max: 500 }, dataGiB: { min: 5, max: 2000 } },
];
