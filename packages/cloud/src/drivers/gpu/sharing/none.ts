import { cardDevices, type SharingMode } from './mode.js';

export const none: SharingMode = {
  name: 'none',
  memory: 'scheduled',
  compute: 'scheduled',
  faults: 'shared',
  summary: 'Every instance sees the whole card; its slice is only counted when instances are placed.',
  attach: (parts) => ({ devices: cardDevices(parts), environment: {}, mounts: [] }),
};
