import type { GpuAttachment, SharingModeName } from '../../../domain/gpu.js';
import { exclusive } from './exclusive.js';
import { hami } from './hami.js';
import { mig } from './mig.js';
import type { GpuPart, SharingMode } from './mode.js';
import { mps } from './mps.js';
import { none } from './none.js';

export const sharingModes: Readonly<Record<SharingModeName, SharingMode>> = {
  exclusive,
  mig,
  mps,
  hami,
  none,
};

/** The mode in which an instance has a card: whole cards and MIG parts are never shared. */
export function modeOf(
  { mig: part }: GpuPart['card'],
  isWhole: boolean,
  forSlices: SharingModeName,
): SharingMode {
  if (part !== undefined) return mig;
  return isWhole ? exclusive : sharingModes[forSlices];
}

/**
 * What an instance gets of its cards. `undefined` for cards that are no hardware: an instance computes on
 * `software` cards with the libraries of its image, and on `fake` ones not at all.
 */
export function attachGpus(
  parts: readonly (GpuPart & { readonly isWhole: boolean })[],
  options: { readonly forSlices: SharingModeName; readonly usesNvidiaRuntime: boolean },
): GpuAttachment | undefined {
  const real = parts.filter(({ card }) => card.kind === 'nvidia');
  const [first] = real;
  if (first === undefined) return undefined;
  const mode = modeOf(first.card, first.isWhole, options.forSlices);
  return { ...mode.attach(real), usesNvidiaRuntime: options.usesNvidiaRuntime };
}
