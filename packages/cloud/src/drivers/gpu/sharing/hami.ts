import { cardDevices, type SharingMode } from './mode.js';

/** Where HAMi-core is installed on the host, by its own convention. */
const directory = '/usr/local/vgpu';

export const hami: SharingMode = {
  name: 'hami',
  memory: 'cooperative',
  compute: 'cooperative',
  faults: 'shared',
  summary:
    "HAMi-core's library stands before CUDA and keeps to limits in the environment: programs that are started " +
    'otherwise, as by a login, or that drop the settings have the whole card.',
  attach: (parts) => ({
    devices: cardDevices(parts),
    environment: {
      ...Object.fromEntries(
        parts.map(({ memoryMiB }, index) => [`CUDA_DEVICE_MEMORY_LIMIT_${index}`, `${memoryMiB}m`]),
      ),
      // One for all cards: slices of one request are alike.
      CUDA_DEVICE_SM_LIMIT: String(Math.min(...parts.map((part) => part.computePercent))),
    },
    mounts: [
      { source: `${directory}/libvgpu.so`, path: `${directory}/libvgpu.so`, readOnly: true },
      { source: `${directory}/ld.so.preload`, path: '/etc/ld.so.preload', readOnly: true },
    ],
  }),
};
