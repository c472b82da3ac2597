import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { GpuCard, GpuInventory } from '../../domain/gpu.js';
import type { GpuDriver } from './driver.js';
import { parseKernelLog } from './kernelLog.js';
import { parseMigListing } from './nvidiaListing.js';
import { parseNvidiaQuery } from './nvidiaQuery.js';
import { parseTopology } from './nvidiaTopology.js';

/** Runs a program on the host and gives its standard output. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

/** A card that hangs makes nvidia-smi wait for ever. */
const timeoutMs = 30_000;
const maxOutputBytes = 64 * 1024 * 1024;

const runHere: RunProgram = async (program, args) => {
  const options = { timeout: timeoutMs, maxBuffer: maxOutputBytes };
  return (await promisify(execFile)(program, [...args], options)).stdout;
};

/** The NVIDIA cards of the machine that this runs on, through its driver's own program. */
export class NvidiaGpuDriver implements GpuDriver {
  constructor(private readonly run: RunProgram = runHere) {}

  async readInventory(): Promise<GpuInventory> {
    const queried = parseNvidiaQuery(await this.run('nvidia-smi', ['-q', '-x']));
    // Both only add to what the query says: a host where they cannot be read is no worse for it.
    const topology = parseTopology(await this.run('nvidia-smi', ['topo', '-m']).catch(() => ''));
    const logged = parseKernelLog(await this.run('dmesg', []).catch(() => ''));
    const listing = queried.some((card) => card.migParts)
      ? parseMigListing(await this.run('nvidia-smi', ['-L']))
      : undefined;

    const cards = queried.flatMap(({ migParts, ...card }, index): GpuCard[] => {
      const numaNode = topology.numaNodes.get(index);
      const faults = [...card.faults, ...(logged.get(card.pciAddress) ?? [])];
      const whole: GpuCard = { ...card, ...(numaNode === undefined ? {} : { numaNode }), faults };
      if (migParts === undefined) return [whole];
      const named = listing?.get(card.id) ?? [];
      return migParts.flatMap(({ index: place, memoryMiB, ...ids }) => {
        const { uuid, profile } = named[place] ?? {};
        if (uuid === undefined || profile === undefined) return [];
        const product = `${card.product} MIG ${profile}`;
        return [{ ...whole, id: uuid, product, memoryMiB, mig: { ...ids, profile } }];
      });
    });
    const idOf = (index: number): string | undefined => {
      const card = queried[index];
      return card?.migParts === undefined ? card?.id : undefined;
    };
    const links = topology.links.flatMap(({ between: [one, other], bandwidth }) => {
      const [first, second] = [idOf(one), idOf(other)];
      return first === undefined || second === undefined
        ? []
        : [{ between: [first, second] as const, bandwidth }];
    });
    return { cards, links };
  }
}
