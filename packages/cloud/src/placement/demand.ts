import type { GpuRequest } from './request.js';

/** Requests that ask for the same, and how often they come. */
export interface RequestClass {
  readonly cpuMilli: number;
  readonly gpu: GpuRequest;
  /** Arrivals, those long ago counting less. */
  readonly weight: number;
}

/** After so many GPU requests an arrival counts half: the mix follows the months, not the day. */
const halfLifeRequests = 20_000;
/** More classes than this cost time and change nothing: the rarest are forgotten. */
const maxClasses = 1000;

/**
 * Learns from the requests as they arrive, placed or not, what is usually asked. Requests without
 * GPU are not kept: they say nothing about which free cards will be of use.
 */
export class DemandModel {
  readonly #classes = new Map<string, { cpuMilli: number; gpu: GpuRequest; weight: number }>();
  /** The weight of the next arrival; grows instead of all others shrinking. */
  #increment = 1;
  /** GPU requests seen so far. */
  observed = 0;

  observe(request: { readonly cpuMilli: number; readonly gpu?: GpuRequest }): void {
    const { gpu, cpuMilli } = request;
    if (gpu === undefined) return;
    this.observed++;
    this.#increment *= 2 ** (1 / halfLifeRequests);
    if (this.#increment > 1e9) this.#rescale();
    const key = `${cpuMilli}|${gpuKey(gpu)}`;
    const known = this.#classes.get(key);
    if (known !== undefined) known.weight += this.#increment;
    else this.#classes.set(key, { cpuMilli, gpu, weight: this.#increment });
    if (this.#classes.size > maxClasses * 2) this.#forgetRarest();
  }

  classes(): Iterable<RequestClass> {
    return this.#classes.values();
  }

  #rescale(): void {
    for (const known of this.#classes.values()) known.weight /= this.#increment;
    this.#increment = 1;
  }

  #forgetRarest(): void {
    const rarestFirst = [...this.#classes].sort(([, a], [, b]) => a.weight - b.weight);
    for (const [key] of rarestFirst.slice(0, rarestFirst.length - maxClasses)) this.#classes.delete(key);
  }
}

/** Equal for GPU requests that ask for the same. */
export function gpuKey(gpu: GpuRequest): string {
  const models = gpu.models === undefined ? '' : [...gpu.models].sort().join(',');
  return gpu.kind === 'whole'
    ? `whole|${gpu.count}|${models}`
    : `slice|${gpu.count}|${gpu.memoryMiB}|${gpu.computePercent}|${models}`;
}
