/** A kind of cloud disk, with the sizes in which it comes (DescribeAvailableResource, CreateDisk). */
export interface DiskCategory {
  readonly id: string;
  readonly systemGiB: { readonly min: number; readonly max: number };
  readonly dataGiB: { readonly min: number; readonly max: number };
  /** Levels of performance, each from a size on; the one that counts when none is named comes first. */
  readonly levels?: readonly { readonly id: string; readonly minGiB: number }[];
}

const essdLevels = [
  { id: 'PL1', minGiB: 20 },
  { id: 'PL0', minGiB: 1 },
  { id: 'PL2', minGiB: 461 },
  { id: 'PL3', minGiB: 1261 },
];

/** All categories are served from the host's storage pool; they differ in their documented limits. */
export const diskCategories: readonly DiskCategory[] = [
  {
    id: 'cloud_essd',
    systemGiB: { min: 20, max: 2048 },
    dataGiB: { min: 1, max: 65_536 },
    levels: essdLevels,
  },
  { id: 'cloud_essd_entry', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 10, max: 32_768 } },
  { id: 'cloud_auto', systemGiB: { min: 1, max: 2048 }, dataGiB: { min: 1, max: 65_536 } },
  { id: 'cloud_ssd', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 20, max: 32_768 } },
  { id: 'cloud_efficiency', systemGiB: { min: 20, max: 2048 }, dataGiB: { min: 20, max: 32_768 } },
  { id: 'cloud', systemGiB: { min: 20, max: 500 }, dataGiB: { min: 5, max: 2000 } },
];

/** Sizes of a data disk of the category, at one of its levels where it has any. */
export function dataSizesOf(
  category: DiskCategory,
  level: string | null,
): { readonly min: number; readonly max: number } {
  const { min, max } = category.dataGiB;
  const known = category.levels?.find((each) => each.id === level);
  return { min: Math.max(min, known?.minGiB ?? 0), max };
}
