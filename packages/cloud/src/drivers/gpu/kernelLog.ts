import type { GpuFault } from '../../domain/gpu.js';

/**
 * Errors that a card does not get over without a reset or a repair (NVIDIA's catalogue of Xid errors). What a
 * program does wrong (13, 31, 43, 45) is left out: it says nothing about the card.
 */
const fatalXids: Readonly<Record<number, string>> = {
  48: 'double-bit ECC error',
  62: 'micro-controller halted',
  64: 'row remapping failed',
  74: 'NVLink error',
  79: 'GPU has fallen off the bus',
  95: 'uncontained ECC error',
  119: 'GSP does not answer',
  120: 'GSP error',
};

const xidLine = /NVRM: Xid \(PCI:([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})[^)]*\): (\d+)/i;
/** Newer drivers say it without a number, over several lines. */
const lostLine = /NVRM: The NVIDIA GPU ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)/i;

/**
 * What the kernel log since the boot says against cards, by PCI address. A host is cleared by its next boot.
 */
export function parseKernelLog(log: string): Map<string, GpuFault[]> {
  const faults = new Map<string, GpuFault[]>();
  const add = (address: string, fault: GpuFault): void => {
    const known = faults.get(address) ?? [];
    if (!known.some((each) => each.message === fault.message)) faults.set(address, [...known, fault]);
  };
  const lines = log.split('\n');
  for (const [index, line] of lines.entries()) {
    const [, device, digits] = xidLine.exec(line) ?? [];
    const meaning = fatalXids[Number(digits)];
    if (device !== undefined && meaning !== undefined) {
      add(`${device.toLowerCase()}.0`, { code: 'xid', message: `Xid ${digits}: ${meaning}` });
    }
    const lost = lostLine.exec(line)?.[1];
    const continues = /fallen off the bus/.test(lines.slice(index, index + 3).join(' '));
    if (lost !== undefined && continues) {
      add(lost.toLowerCase(), { code: 'lost', message: 'the GPU has fallen off the bus' });
    }
  }
  return faults;
}
