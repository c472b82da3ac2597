import { cardDevices, type SharingMode } from './mode.js';

export const exclusive: SharingMode = {
  name: 'exclusive',
  memory: 'enforced',
  compute: 'enforced',
  faults: 'isolated',
  summary: 'Whole cards for one instance; no other instance has the device.',
  attach: (parts) => ({ devices: cardDevices(parts), environment: {}, mounts: [] }),
};
