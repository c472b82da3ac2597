import type { GpuCard } from '../domain/gpu.js';

/** Healthy cards without hardware, `<name>-0` and so on. */
export function fakeCards(name: string, product: string, memoryGiB: number, count: number): GpuCard[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${name}-${index}`,
    kind: 'fake',
    product,
    memoryMiB: memoryGiB * 1024,
    faults: [],
  }));
}
