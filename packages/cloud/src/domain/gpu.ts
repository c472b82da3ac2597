/** What computes: a real card, the host's processors behind OpenCL and Vulkan, or nothing at all. */
export type GpuKind = 'nvidia' | 'software' | 'fake';

/** Why a card takes nothing new. */
export interface GpuFault {
  /**
   * `ecc`: uncorrectable memory errors since the driver was loaded; `memoryRepair`: rows or pages wait to be
   * replaced, or could not be; `reset`: the driver asks for a reset; `xid`: the kernel log has an error that
   * the card does not get over by itself; `lost`: the card does not answer or is not there any more.
   */
  readonly code: 'ecc' | 'memoryRepair' | 'reset' | 'xid' | 'lost';
  readonly message: string;
}

/** A part of a card that its hardware keeps apart (NVIDIA MIG): used as a card of its own. */
export interface MigPart {
  readonly gpuInstanceId: number;
  readonly computeInstanceId: number;
  /** `1g.20gb` and the like, where the listing says it. */
  readonly profile?: string;
}

/** A card of a host, or a MIG part of one. */
export interface GpuCard {
  /** Unique on its host and the same at every reading: the UUID where there is one. */
  readonly id: string;
  readonly kind: GpuKind;
  /** As its maker names it: `Tesla T4`. */
  readonly product: string;
  /** As the driver reports it, a little less than what the maker says. */
  readonly memoryMiB: number;
  /** `0000:3b:00.0` */
  readonly pciAddress?: string;
  /** Number of its device file: 0 for `/dev/nvidia0`. */
  readonly minor?: number;
  readonly numaNode?: number;
  readonly mig?: MigPart;
  /** Of a software card: the processors that compute it, in thousandths. */
  readonly processorMilli?: number;
  /** Empty: healthy. */
  readonly faults: readonly GpuFault[];
}

/** How fast two cards talk to each other. */
export interface GpuLink {
  readonly between: readonly [string, string];
  /** GB/s in one direction. */
  readonly bandwidth: number;
}

export interface GpuInventory {
  readonly cards: readonly GpuCard[];
  readonly links: readonly GpuLink[];
}

export const noGpus: GpuInventory = { cards: [], links: [] };

/** How slices share a card, see `SharingMode`. */
export type SharingModeName = 'exclusive' | 'mig' | 'mps' | 'hami' | 'cgroup' | 'none';

/**
 * Who computes when on a shared card; the place in the list is the number of the policy in cGPU. `average`: a
 * fixed slice of 1/25, others or not. `preemptive`: like parts among those that compute. `weighted`: parts by
 * share among those that compute. `fixed`: the share and no more. `soft`: as `weighted`. `native`: no rule.
 */
export const schedulingPolicies = ['average', 'preemptive', 'weighted', 'fixed', 'soft', 'native'] as const;

export type SchedulingPolicy = (typeof schedulingPolicies)[number];

/** A device that an instance gets. */
export type GpuDevice =
  | { readonly type: 'card'; readonly pciAddress: string }
  | {
      readonly type: 'migPart';
      readonly pciAddress: string;
      readonly gpuInstanceId: number;
      readonly computeInstanceId: number;
    };

/** What an instance gets of its cards, in terms that every engine knows. */
export interface GpuAttachment {
  readonly devices: readonly GpuDevice[];
  /** Of the instance's first process. A login over SSH does not have it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files and directories of the host that the instance sees. */
  readonly mounts: readonly { readonly source: string; readonly path: string; readonly readOnly: boolean }[];
  /** What all processes of the instance together may compute: beside others by weight, or no more than the cap. */
  readonly processors?:
    | { readonly kind: 'weight'; readonly percent: number }
    | { readonly kind: 'cap'; readonly milli: number };
  /** Has NVIDIA's container tools bring the driver's libraries into the instance. */
  readonly usesNvidiaRuntime: boolean;
}
