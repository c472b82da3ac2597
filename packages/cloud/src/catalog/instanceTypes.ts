import { readFileSync } from 'node:fs';

/** GPUs of an instance type. */
export interface InstanceTypeGpu {
  readonly model: string;
  /** Number of cards; a fraction for types that get a slice of one. */
  readonly amount: number;
  /** As printed by DescribeInstanceTypes: `1`, or `1/4` for a slice. */
  readonly amountText: string;
  readonly memoryMiBPerCard: number | undefined;
}

/**
 * A size in which instances are offered. Figures are the documented ones; `undefined` where the
 * documentation says nothing.
 */
export interface InstanceType {
  readonly id: string;
  readonly family: string;
  /** `ecs-6` and so on, as DescribeInstanceTypeFamilies has it. */
  readonly generation: string;
  readonly kind: 'cpu' | 'cpu-shared' | 'cpu-burstable' | 'gpu' | 'gpu-baremetal' | 'vgpu';
  readonly cpuArchitecture: 'X86' | 'ARM';
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly gpu: InstanceTypeGpu | undefined;
  readonly bandwidthKbps: number | undefined;
  readonly packetsPerSecond: number | undefined;
  readonly networkInterfaces: number;
  readonly privateAddressesPerInterface: number;
  readonly ipv6AddressesPerInterface: number | undefined;
  readonly primaryInterfaceQueues: number | undefined;
  readonly secondaryInterfaceQueues: number | undefined;
  readonly localStorageGiB: number | undefined;
  readonly baselineCpuPercent: number | undefined;
  readonly cpuCreditsPerHour: number | undefined;
  /** List price in CNY, for 136 of the types. */
  readonly hourlyPrice: number | undefined;
}

/** Used where the documentation gives no figure: the least that any documented type has. */
const fewestNetworkInterfaces = 2;
const fewestAddressesPerInterface = 2;

/** Of sgn8ia only the sizes of the slices are documented; the largest is taken to be the whole card. */
const undividedGigabytes = 48;

function readTable(file: string): Record<string, string>[] {
  const text = readFileSync(new URL(`../../data/${file}`, import.meta.url), 'utf8');
  const [head = '', ...lines] = text.trim().split(/\r?\n/);
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}

function number(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}

/** Of `1/4`: 0.25. */
function fraction(text: string | undefined): number | undefined {
  const [count, parts = '1'] = (text ?? '').split('/');
  return count === undefined || count === '' ? undefined : Number(count) / Number(parts);
}

function isKind(text: string | undefined): text is InstanceType['kind'] {
  return ['cpu', 'cpu-shared', 'cpu-burstable', 'gpu', 'gpu-baremetal', 'vgpu'].includes(text ?? '');
}

/** One less than the number in the family's name (g5 is of ecs-4, g6 of ecs-5); without one, the last. */
function generationOf(family: string): string {
  const digit = /\d/.exec(family)?.[0];
  return digit === undefined ? 'ecs-6' : `ecs-${Number(digit) - 1}`;
}

/** Reads the types and their list prices from the data files that come with the cloud. */
export function readInstanceTypes(): InstanceType[] {
  const prices = new Map(
    readTable('list-prices.csv').map((row) => [row['instance_type'], row['cny_per_hour']]),
  );
  return readTable('instance-types.csv').map((row) => {
    const kind = row['kind'];
    const vcpus = number(row['vcpu']);
    const memoryGiB = number(row['memory_gib']);
    const id = row['instance_type'];
    if (!id || !isKind(kind) || vcpus === undefined || memoryGiB === undefined) {
      throw new Error(`instance-types.csv: a row without id, kind, vCPUs or memory: ${JSON.stringify(row)}`);
    }
    const gigabits = number(row['bandwidth_gbps_base']);
    const cardGigabytes = number(row['gpu_memory_gb_per_card']);
    const totalGigabytes = number(row['gpu_memory_gb_total']);
    return {
      id,
      family: `ecs.${row['family']}`,
      generation: generationOf(row['family'] ?? ''),
      kind,
      cpuArchitecture: row['cpu_architecture'] === 'ARM' ? 'ARM' : 'X86',
      vcpus,
      memoryMiB: memoryGiB * 1024,
      gpu:
        row['gpu_model'] === ''
          ? undefined
          : {
              model: row['gpu_model'] ?? '',
              amount: fraction(row['gpu_amount']) ?? (totalGigabytes ?? 0) / undividedGigabytes,
              amountText: row['gpu_amount'] ?? '',
              memoryMiBPerCard:
                row['gpu_amount'] === '' ? undividedGigabytes * 1024 : cardGigabytes && cardGigabytes * 1024,
            },
      bandwidthKbps: gigabits === undefined ? undefined : gigabits * 1_000_000,
      packetsPerSecond: number(row['pps']),
      networkInterfaces: number(row['enis']) ?? fewestNetworkInterfaces,
      privateAddressesPerInterface: number(row['private_ipv4_per_eni']) ?? fewestAddressesPerInterface,
      ipv6AddressesPerInterface: number(row['ipv6_per_eni']),
      primaryInterfaceQueues: number(row['nic_queues_primary']),
      secondaryInterfaceQueues: number(row['nic_queues_secondary']),
      localStorageGiB: number(row['local_storage_gib']),
      baselineCpuPercent: number(row['cpu_baseline_pct']),
      cpuCreditsPerHour: number(row['cpu_credits_per_hour']),
      hourlyPrice: number(prices.get(id)),
    };
  });
}
