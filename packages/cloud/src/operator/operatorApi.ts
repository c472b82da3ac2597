import { join } from 'node:path';

/*
 * What the operator's socket speaks, for both of its sides. Light: the command line loads it at every call.
 */

/** What a running cloud says about itself. */
export interface CloudStatus {
  readonly pid: number;
  readonly endpoint: string;
  readonly region: string;
  readonly engine: string;
  readonly startedAt: string;
  readonly instances: Readonly<Record<string, number>>;
}

/** What the operator is told about a host. */
export interface HostDescription {
  readonly id: string;
  readonly regionId: string;
  readonly zoneId: string;
  /** `unreachable`: its engine does not answer; it is tried again until it does. */
  readonly state: 'active' | 'draining' | 'unreachable';
  readonly origin: 'config' | 'operator' | 'orphan';
  readonly engine: string;
  readonly address: string;
  readonly instances: number;
  readonly offered: { readonly vcpus: number; readonly memoryMiB: number; readonly diskGiB: number };
  readonly free: { readonly vcpus: number; readonly memoryMiB: number; readonly diskGiB: number };
}

/** What the operator is told about a card. */
export interface GpuDescription {
  /** Unique on its host. */
  readonly id: string;
  readonly hostId: string;
  readonly kind: 'nvidia' | 'software' | 'fake';
  /** As its driver names it. */
  readonly product: string;
  /** As instance types ask for it: model and size. */
  readonly model: string;
  /** What is given to instances, in the maker's count. */
  readonly memoryMiB: number;
  /** What the driver reports. */
  readonly reportedMemoryMiB: number;
  readonly pciAddress?: string;
  readonly numaNode?: number;
  /** Empty: healthy. */
  readonly faults: readonly string[];
  /** How slices of the card are kept apart, and how far. */
  readonly sharing: {
    readonly mode: 'exclusive' | 'mig' | 'mps' | 'hami' | 'cgroup' | 'none';
    readonly memory: 'enforced' | 'cooperative' | 'scheduled';
    readonly compute: 'enforced' | 'cooperative' | 'scheduled';
    readonly faults: 'isolated' | 'shared';
    readonly summary: string;
  };
  readonly freeMemoryMiB: number;
  readonly freeComputePercent: number;
  readonly holders: readonly {
    readonly instanceId: string;
    readonly memoryMiB: number;
    readonly computePercent: number;
    readonly exclusive: boolean;
  }[];
}

/** Where an instance would go, and why not to the other hosts. */
export interface PlacementExplanation {
  /** Absent: nowhere, see `refusal`. */
  readonly hostId?: string;
  readonly cards?: readonly string[];
  readonly refusal?: string;
  readonly hosts: readonly {
    readonly hostId: string;
    readonly text: string;
    readonly cards: readonly { readonly cardId: string; readonly text: string }[];
  }[];
}

/** The operator's socket of a cloud. Who can open it is its operator. */
export function operatorSocketPath(dataDirectory: string): string {
  return join(dataDirectory, 'operator.sock');
}
