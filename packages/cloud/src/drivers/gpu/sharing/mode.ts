import type { GpuAttachment, GpuCard, GpuDevice, SharingModeName } from '../../../domain/gpu.js';

/**
 * How far an instance is held to its part. `enforced`: by what it cannot change. `cooperative`: by settings
 * and a library that its owner, who is root there, can switch off. `scheduled`: not at all; the part is only
 * counted when instances are placed.
 */
export type Guarantee = 'enforced' | 'cooperative' | 'scheduled';

/** What an instance has of one card. */
export interface GpuPart {
  readonly card: GpuCard;
  /** In the driver's count, of which the card has `memoryMiB`. */
  readonly memoryMiB: number;
  readonly computePercent: number;
}

/** A program that must run on the host before the instance starts. */
export interface HostCommand {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** A way in which instances share cards, and what it promises. */
export interface SharingMode {
  readonly name: SharingModeName;
  readonly memory: Guarantee;
  readonly compute: Guarantee;
  /** Whether a program that crashes the card's context takes its neighbours' with it. */
  readonly faults: 'isolated' | 'shared';
  /** One sentence for those who choose. */
  readonly summary: string;
  attach(parts: readonly GpuPart[]): Omit<GpuAttachment, 'usesNvidiaRuntime'>;
  /** Absent: the mode needs nothing on the host. */
  hostCommands?(parts: readonly GpuPart[]): readonly HostCommand[];
}

/** The whole card as a device; one that has no PCI address is no hardware. */
export function cardDevices(parts: readonly GpuPart[]): GpuDevice[] {
  return parts.flatMap(({ card: { pciAddress } }) =>
    pciAddress === undefined ? [] : [{ type: 'card', pciAddress }],
  );
}
