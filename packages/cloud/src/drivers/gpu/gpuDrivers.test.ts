import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfiguredGpuDriver } from './configuredGpus.js';
import { parseEngineCards } from './engineCards.js';
import { parseKernelLog } from './kernelLog.js';
import { NvidiaGpuDriver } from './NvidiaGpuDriver.js';
import { parseNvidiaQuery } from './nvidiaQuery.js';
import { parseTopology } from './nvidiaTopology.js';

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');

describe('nvidia-smi -q -x', () => {
  it.each([
    ['t4.xml', 'GPU-d37e67a5-91dd-3774-a5cb-99096249601a', 'Tesla T4', 15_360, '0000:00:1e.0'],
    ['v100.xml', 'GPU-76098dc1-d3bc-9a1b-7ea6-f7b48837829e', 'Tesla V100S-PCIE-32GB', 32_510, '0000:00:0d.0'],
    ['a10g.xml', 'GPU-9a9a6c50-2a47-2f51-a902-b82c3b127e94', 'NVIDIA A10G', 23_028, '0000:00:1e.0'],
  ])('%s gives the card, which is well', (file, id, product, memoryMiB, pciAddress) => {
    expect(parseNvidiaQuery(fixture(file))).toEqual([
      { id, kind: 'nvidia', product, memoryMiB, pciAddress, minor: 0, faults: [] },
    ]);
  });

  it.each([
    ['t4.xml', '<dram_uncorrectable>0<', '<dram_uncorrectable>2<', 'ecc'],
    ['v100.xml', '<total>0</total></double_bit>', '<total>1</total></double_bit>', 'ecc'],
    ['a10g.xml', '<remapped_row_pending>No<', '<remapped_row_pending>Yes<', 'memoryRepair'],
    ['a10g.xml', '<remapped_row_failure>No<', '<remapped_row_failure>Yes<', 'memoryRepair'],
    ['v100.xml', '<pending_retirement>No<', '<pending_retirement>Yes<', 'memoryRepair'],
    ['a100-mig.xml', '<reset_required>No<', '<reset_required>Yes<', 'reset'],
    ['t4.xml', '<total>15360 MiB</total>', '<total>GPU is lost</total>', 'lost'],
  ])('%s with %s changed to %s has the fault %s', (file, from, to, code) => {
    const [card] = parseNvidiaQuery(fixture(file).replace(from, to));
    expect(card?.faults.map((fault) => fault.code)).toEqual([code]);
  });

  it('must be what nvidia-smi writes', () => {
    expect(() => parseNvidiaQuery('No devices were found')).toThrow(/no answer of nvidia-smi/);
  });
});

describe('nvidia-smi topo -m', () => {
  it('gives NVLink bandwidth by the number of links', () => {
    const { links, numaNodes } = parseTopology(fixture('v100-topology.txt'));
    expect(links).toHaveLength(6);
    expect(links).toContainEqual({ between: [0, 1], bandwidth: 25 });
    expect(links).toContainEqual({ between: [0, 3], bandwidth: 50 });
    expect(numaNodes.size).toBe(0);
  });
  it('rates pairs of one socket over pairs of two, and knows the NUMA nodes', () => {
    const { links, numaNodes } = parseTopology(fixture('pcie-topology.txt'));
    const of = (one: number, other: number): number =>
      links.find(({ between: [a, b] }) => a === one && b === other)?.bandwidth ?? 0;
    expect(of(0, 1)).toBeGreaterThan(of(0, 2));
    expect(of(2, 3)).toBe(of(0, 1));
    expect([...numaNodes]).toEqual([
      [0, 0],
      [1, 0],
      [2, 1],
      [3, 1],
    ]);
  });
  it('of one card or of none gives no links', () => {
    expect(parseTopology('\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t\tN/A').links).toEqual([]);
    expect(parseTopology('').links).toEqual([]);
  });
});

describe('the kernel log', () => {
  it('tells of cards that fell off the bus, once each', () => {
    const line =
      "[1.1] NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
    const faults = parseKernelLog(`${line}\n${line}`);
    expect([...faults]).toEqual([
      ['0000:05:00.0', [{ code: 'xid', message: 'Xid 79: GPU has fallen off the bus' }]],
    ]);
  });
  it('tells of it also where newer drivers give no number', () => {
    const log = [
      '[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0',
      '               NVRM: (PCI ID: 10de:26b5) installed in this system has',
      '               NVRM: fallen off the bus and is not responding to commands.',
    ];
    expect(parseKernelLog(log.join('\n')).get('0000:b3:00.0')?.[0]?.code).toBe('lost');
  });
  it('does not hold against a card what a program did wrong', () => {
    expect(parseKernelLog('NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=python3, MMU Fault').size).toBe(0);
  });
});

describe('the NVIDIA driver', () => {
  const host = (outputs: Readonly<Record<string, string>>): NvidiaGpuDriver =>
    new NvidiaGpuDriver(async (program, args) => {
      const output = outputs[[program, ...args].join(' ')];
      if (output === undefined) throw new Error(`${program}: not found`);
      return output;
    });

  it('shows each MIG part as a card of its own, and not the card', async () => {
    const { cards } = await host({
      'nvidia-smi -q -x': fixture('a100-mig.xml'),
      'nvidia-smi -L': fixture('a100-mig.txt'),
    }).readInventory();
    expect(cards).toHaveLength(4);
    expect(cards[1]).toEqual({
      id: 'MIG-a45882f0-9215-5733-a0c1-49286ab31cb5',
      kind: 'nvidia',
      product: 'NVIDIA A100-SXM4-80GB MIG 1g.20gb',
      memoryMiB: 19_968,
      pciAddress: '0000:01:00.0',
      minor: 1,
      mig: { gpuInstanceId: 4, computeInstanceId: 0, profile: '1g.20gb' },
      faults: [],
    });
  });
  it('adds what the kernel log says', async () => {
    const { cards } = await host({
      'nvidia-smi -q -x': fixture('t4.xml'),
      dmesg: 'NVRM: Xid (PCI:0000:00:1e): 119, Timeout waiting for RPC from GSP!',
    }).readInventory();
    expect(cards[0]?.faults).toEqual([{ code: 'xid', message: 'Xid 119: GSP does not answer' }]);
  });
  it('fails when nvidia-smi does', async () => {
    await expect(host({}).readInventory()).rejects.toThrow('nvidia-smi: not found');
  });
});

describe('other sources of cards', () => {
  it('the engine names NVIDIA cards, of which the memory must be known', () => {
    const resources: unknown = JSON.parse(fixture('engine-resources.json'));
    expect(parseEngineCards(resources, () => 2048)).toEqual([
      {
        id: 'GPU-6ddadebd-dafe-2db9-f10f-125719770fd3',
        kind: 'nvidia',
        product: 'GeForce GT 730',
        memoryMiB: 2048,
        pciAddress: '0000:00:02.0',
        numaNode: 0,
        minor: 0,
        faults: [],
      },
    ]);
    expect(parseEngineCards(resources, () => undefined)).toEqual([]);
    expect(parseEngineCards({ cards: null, total: 0 }, () => 2048)).toEqual([]);
  });
  it('the configuration declares cards', async () => {
    const declared = [
      { model: 'NVIDIA T4', memoryMiB: 16_384, count: 2, kind: 'fake' },
      { model: 'PoCL', memoryMiB: 1024, count: 2, kind: 'software' },
    ] as const;
    const driver = new ConfiguredGpuDriver(declared, 8);
    const { cards } = await driver.readInventory();
    expect(cards.map((card) => `${card.id} ${card.product}`)).toEqual([
      'fake-0 NVIDIA T4',
      'fake-1 NVIDIA T4',
      'software-2 PoCL',
      'software-3 PoCL',
    ]);
    expect(cards.map((card) => card.processorMilli)).toEqual([undefined, undefined, 4000, 4000]);
  });
});
