import { XMLParser } from 'fast-xml-parser';
import type { GpuCard, GpuFault, MigPart } from '../../domain/gpu.js';

/** A card as `nvidia-smi -q -x` shows it, with its MIG parts where that mode is on. */
export interface QueriedCard extends GpuCard {
  readonly pciAddress: string;
  /** Absent: MIG mode is off. */
  readonly migParts?: readonly QueriedMigPart[];
}

export interface QueriedMigPart extends MigPart {
  /** Place in the listing of `nvidia-smi -L`. */
  readonly index: number;
  readonly memoryMiB: number;
}

type Node = Readonly<Record<string, unknown>>;

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  // Documents with entities of their own are not what nvidia-smi writes.
  processEntities: false,
  isArray: (name) => name === 'gpu' || name === 'mig_device',
});

/**
 * Reads the answer of `nvidia-smi -q -x`. The structure has changed with the drivers (DTD v9 to v13): what a
 * version does not have counts as unknown, never as an error.
 * @throws Error when the text is not such an answer.
 */
export function parseNvidiaQuery(xml: string): QueriedCard[] {
  const log = child(asNode(parser.parse(xml)), 'nvidia_smi_log');
  if (Object.keys(log).length === 0) throw new Error('this is no answer of nvidia-smi -q -x');
  return list(log, 'gpu').map(readCard);
}

function readCard(gpu: Node): QueriedCard {
  const pciAddress = shortPciAddress(text(gpu, '@id') ?? text(child(gpu, 'pci'), 'pci_bus_id') ?? '');
  const uuid = text(gpu, 'uuid');
  const minor = number(gpu, 'minor_number');
  const isMig = text(child(gpu, 'mig_mode'), 'current_mig') === 'Enabled';
  return {
    id: uuid?.startsWith('GPU-') ? uuid : pciAddress,
    kind: 'nvidia',
    product: text(gpu, 'product_name') ?? 'unknown',
    memoryMiB: number(child(gpu, 'fb_memory_usage'), 'total') ?? 0,
    pciAddress,
    ...(minor === undefined ? {} : { minor }),
    ...(isMig ? { migParts: list(child(gpu, 'mig_devices'), 'mig_device').map(readMigPart) } : {}),
    faults: readFaults(gpu),
  };
}

function readMigPart(part: Node): QueriedMigPart {
  return {
    index: number(part, 'index') ?? 0,
    gpuInstanceId: number(part, 'gpu_instance_id') ?? 0,
    computeInstanceId: number(part, 'compute_instance_id') ?? 0,
    memoryMiB: number(child(part, 'fb_memory_usage'), 'total') ?? 0,
  };
}

function readFaults(gpu: Node): GpuFault[] {
  const faults: GpuFault[] = [];
  const add = (code: GpuFault['code'], message: string): void => void faults.push({ code, message });
  // What a card that fell off the bus shows in the place of every figure.
  if (/GPU is lost/i.test(JSON.stringify(gpu))) return [{ code: 'lost', message: 'the GPU is lost' }];

  const volatile = child(child(gpu, 'ecc_errors'), 'volatile');
  const errors = Object.keys(volatile)
    .filter((name) => /^(sram|dram)_uncorrectable/.test(name))
    .reduce((sum, name) => sum + (number(volatile, name) ?? 0), 0);
  // Drivers before 450 count by the number of bits.
  const uncorrectable = errors + (number(child(volatile, 'double_bit'), 'total') ?? 0);
  if (uncorrectable > 0) add('ecc', `${uncorrectable} uncorrectable ECC errors since the driver was loaded`);

  const rows = child(gpu, 'remapped_rows');
  if (text(rows, 'remapped_row_failure') === 'Yes') add('memoryRepair', 'a memory row could not be remapped');
  if (text(rows, 'remapped_row_pending') === 'Yes') add('memoryRepair', 'memory rows wait for a reset');
  if (text(child(gpu, 'retired_pages'), 'pending_retirement') === 'Yes') {
    add('memoryRepair', 'memory pages wait for a reset');
  }
  const reset = child(gpu, 'gpu_reset_status');
  if (text(reset, 'reset_required') === 'Yes') add('reset', 'the driver requires a reset');
  else if (text(reset, 'drain_and_reset_recommended') === 'Yes')
    add('reset', 'the driver recommends a reset');
  return faults;
}

/** `00000000:3B:00.0` of nvidia-smi is `0000:3b:00.0` of the kernel and the engine. */
export function shortPciAddress(address: string): string {
  return address.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
}

function asNode(value: unknown): Node {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function child(node: Node, name: string): Node {
  return asNode(node[name]);
}

function list(node: Node, name: string): Node[] {
  const value = node[name];
  return Array.isArray(value) ? value.map(asNode) : [];
}

function text(node: Node, name: string): string | undefined {
  const value = node[name];
  return typeof value === 'string' && value !== '' && value !== 'N/A' ? value : undefined;
}

/** Of `15360 MiB`: 15360. */
function number(node: Node, name: string): number | undefined {
  const digits = /^\d+/.exec(text(node, name) ?? '')?.[0];
  return digits === undefined ? undefined : Number(digits);
}
