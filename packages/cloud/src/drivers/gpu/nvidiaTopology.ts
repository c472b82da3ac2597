/** How the cards of a host hang together, by their place in the list. */
export interface Topology {
  /** GB/s in one direction between two cards. */
  readonly links: readonly { readonly between: readonly [number, number]; readonly bandwidth: number }[];
  /** Of each card that has one. */
  readonly numaNodes: ReadonlyMap<number, number>;
}

/**
 * GB/s in one direction over PCIe, by how far two cards are apart. Rough on purpose: placement only asks which
 * pair is better. 16 lanes of PCIe 4 give 32; each step away costs.
 */
const pcieBandwidths: Readonly<Record<string, number>> = { PIX: 32, PXB: 28, PHB: 20, NODE: 16, SYS: 10 };

/** One NVLink of the second to fourth generation (V100, A100, H100) carries 25 GB/s each way. */
const nvlinkBandwidth = 25;

/** Reads the matrix of `nvidia-smi topo -m`. Network cards and links of an unknown kind are passed over. */
export function parseTopology(output: string): Topology {
  const lines = output.split('\n').map((line) => line.split('\t').map((cell) => cell.trim()));
  const head = lines.find((cells) => cells.includes('GPU0')) ?? [];
  const links: { between: readonly [number, number]; bandwidth: number }[] = [];
  const numaNodes = new Map<number, number>();
  for (const cells of lines) {
    const row = cardIndex(cells[0]);
    if (row === undefined || cells === head) continue;
    for (const [place, name] of head.entries()) {
      const column = cardIndex(name);
      const bandwidth = bandwidthOf(cells[place] ?? '');
      if (column !== undefined && column > row && bandwidth > 0) {
        links.push({ between: [row, column], bandwidth });
      }
    }
    const node = numaNodeOf(head, cells);
    if (node !== undefined) numaNodes.set(row, node);
  }
  return { links, numaNodes };
}

function cardIndex(name: string | undefined): number | undefined {
  const digits = /^GPU(\d+)$/.exec(name ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function bandwidthOf(kind: string): number {
  const links = /^NV(\d+)$/.exec(kind)?.[1];
  return links === undefined ? (pcieBandwidths[kind] ?? 0) : Number(links) * nvlinkBandwidth;
}

/** The columns after the matrix are set with more than one tab where their heads are wide. */
function numaNodeOf(head: readonly string[], cells: readonly string[]): number | undefined {
  const affinity = head.indexOf('CPU Affinity');
  if (affinity < 0 || !head.includes('NUMA Affinity')) return undefined;
  const node = cells.slice(affinity + 1).find((cell) => cell !== '');
  return node !== undefined && /^\d+$/.test(node) ? Number(node) : undefined;
}
