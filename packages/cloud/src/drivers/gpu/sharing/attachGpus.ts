import type { GpuAttachment, SchedulingPolicy } from '../../../domain/gpu.js';
import { cgroup } from './cgroup.js';
import { exclusive } from './exclusive.js';
import { hami } from './hami.js';
import { mig } from './mig.js';
import type { GpuPart, SharingMode } from './mode.js';
import { mps } from './mps.js';
import { none } from './none.js';

/** Modes that an operator may choose for slices of NVIDIA cards. */
const sliceModes = { none, hami, mps } as const;

/** How a host's slices are to be kept apart. */
export interface SharingOptions {
  readonly forSlices: keyof typeof sliceModes;
  readonly policy: SchedulingPolicy;
}

/** The mode in which an instance has a card: whole cards and MIG parts are never shared. */
export function modeOf(card: GpuPart['card'], isWhole: boolean, options: SharingOptions): SharingMode {
  if (card.kind === 'software') return cgroup(options.policy);
  if (card.mig !== undefined) return mig;
  return isWhole ? exclusive : sliceModes[options.forSlices];
}

/** What an instance gets of its cards; `undefined` for `fake` ones, which are nothing. */
export function attachGpus(
  parts: readonly (GpuPart & { readonly isWhole: boolean })[],
  options: SharingOptions & { readonly usesNvidiaRuntime: boolean },
): GpuAttachment | undefined {
  const real = parts.filter(({ card }) => card.kind !== 'fake');
  const [first] = real;
  if (first === undefined) return undefined;
  const usesNvidiaRuntime = options.usesNvidiaRuntime && first.card.kind === 'nvidia';
  return { ...modeOf(first.card, first.isWhole, options).attach(real), usesNvidiaRuntime };
}
