import type { GpuDevice } from '../../../domain/gpu.js';
import type { SharingMode } from './mode.js';

export const mig: SharingMode = {
  name: 'mig',
  memory: 'enforced',
  compute: 'enforced',
  faults: 'isolated',
  summary: 'Parts that the card itself keeps apart (NVIDIA MIG), made by the operator beforehand.',
  attach: (parts) => ({
    devices: parts.flatMap(({ card: { mig: part, pciAddress } }): GpuDevice[] =>
      part === undefined || pciAddress === undefined
        ? []
        : [
            {
              type: 'migPart',
              pciAddress,
              gpuInstanceId: part.gpuInstanceId,
              computeInstanceId: part.computeInstanceId,
            },
          ],
    ),
    environment: {},
    mounts: [],
  }),
};
