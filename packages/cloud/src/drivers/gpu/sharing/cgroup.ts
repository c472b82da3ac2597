import type { GpuAttachment, SchedulingPolicy } from '../../../domain/gpu.js';
import type { GpuPart, SharingMode } from './mode.js';

/** Slices that policy `average` divides a card into. */
const averageSlices = 25;

/**
 * Software cards: OpenCL and Vulkan programs compute on the instance's own processors, so a part of the card is
 * a limit of these, kept by the host's kernel where no tenant can change it. It bounds all that the instance
 * computes, not its GPU programs alone.
 */
export function cgroup(policy: SchedulingPolicy): SharingMode {
  return {
    name: 'cgroup',
    // What a program allocates on the card is the instance's own memory, and ends with that.
    memory: 'scheduled',
    compute: policy === 'native' ? 'scheduled' : 'enforced',
    faults: 'isolated',
    summary:
      'Software cards: the share is one of the processors, kept by the kernel; memory is that of the instance.',
    attach(parts) {
      const processors = limitOf(parts, policy);
      return {
        devices: [],
        environment: {},
        mounts: [],
        ...(processors === undefined ? {} : { processors }),
      };
    },
  };
}

/** The numbers of the policies are those of cGPU. */
function limitOf(parts: readonly GpuPart[], policy: SchedulingPolicy): GpuAttachment['processors'] {
  const percent = Math.max(1, ...parts.map((part) => part.computePercent));
  const milliOf = (share: (part: GpuPart) => number): number =>
    Math.floor(parts.reduce((sum, part) => sum + (part.card.processorMilli ?? 0) * share(part), 0));
  switch (policy) {
    case 'average':
      return { kind: 'cap', milli: milliOf(() => 1 / averageSlices) };
    case 'preemptive':
      return { kind: 'weight', percent: 100 / averageSlices };
    case 'weighted':
    case 'soft':
      return { kind: 'weight', percent };
    case 'fixed':
      return { kind: 'cap', milli: milliOf((part) => part.computePercent / 100) };
    case 'native':
      return undefined;
  }
}
