import { cardDevices, type GpuPart, type SharingMode } from './mode.js';

/** Each card has a daemon of its own, so that one that hangs holds up no other card's instances. */
function pipeDirectory({ card }: GpuPart): string {
  return `/run/openegs/mps/${card.id}`;
}

/**
 * NVIDIA's Multi-Process Service. Its limits are those of each process, read from the environment: an instance
 * with two processes may take twice its part.
 */
export const mps: SharingMode = {
  name: 'mps',
  memory: 'cooperative',
  compute: 'cooperative',
  faults: 'shared',
  summary:
    'NVIDIA MPS: processes compute at the same time, each within limits in its environment; the limits are ' +
    'of each process and not of the instance.',
  attach(parts) {
    // A client talks to one daemon: slices of several cards cannot be had in this mode.
    const [part] = parts;
    if (part === undefined || parts.length > 1) throw new Error('a slice under MPS is one of a single card');
    return {
      devices: cardDevices(parts),
      environment: {
        CUDA_MPS_PIPE_DIRECTORY: '/run/nvidia-mps',
        CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: `0=${part.memoryMiB}M`,
        CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(part.computePercent),
      },
      mounts: [{ source: pipeDirectory(part), path: '/run/nvidia-mps', readOnly: false }],
    };
  },
  hostCommands: (parts) =>
    parts.map((part) => ({
      program: 'nvidia-cuda-mps-control',
      // Instances have user ids of their own, and a plain server serves one user at a time.
      arguments: ['-multiuser-server', '-d'],
      environment: {
        CUDA_VISIBLE_DEVICES: part.card.id,
        CUDA_MPS_PIPE_DIRECTORY: pipeDirectory(part),
        CUDA_MPS_LOG_DIRECTORY: `${pipeDirectory(part)}/log`,
      },
    })),
};
