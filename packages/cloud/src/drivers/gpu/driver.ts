import type { GpuInventory } from '../../domain/gpu.js';

/** Reads which cards a host has and how they are. */
export interface GpuDriver {
  /** Rejects when the host cannot be asked; cards that do not answer are in the inventory, with faults. */
  readInventory(): Promise<GpuInventory>;
}
