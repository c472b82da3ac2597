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

/** The operator's socket of a cloud. Who can open it is its operator. */
export function operatorSocketPath(dataDirectory: string): string {
  return join(dataDirectory, 'operator.sock');
}
