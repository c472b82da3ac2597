import { describe, expect, it } from 'vitest';
import { parseConfig } from '../config.js';
import type { GpuCard } from '../domain/gpu.js';
import { Catalog } from './catalog.js';

const catalog = new Catalog(parseConfig({}));

function offered(product: string, memoryMiB: number, mapping: Readonly<Record<string, string>> = {}) {
  const card: GpuCard = { id: 'card', kind: 'nvidia', product, memoryMiB, faults: [] };
  const { gpuModels } = new Catalog(parseConfig({ gpuModels: mapping }));
  const [offer] = gpuModels.offer({ cards: [card], links: [] }).cards;
  return `${offer?.model} ${offer?.memoryMiB}`;
}

function requestOf(typeId: string) {
  const gpu = catalog.instanceTypes.get(typeId)?.gpu;
  return gpu ? catalog.gpuModels.requestOf(gpu) : expect.fail(`${typeId} has no GPU`);
}

describe('cards', () => {
  it.each([
    ['Tesla T4', 15_360, 'NVIDIA T4 16GB 16384'],
    ['Tesla V100-SXM2-16GB', 16_160, 'NVIDIA V100 SXM2 16GB 16384'],
    ['Tesla V100-SXM2-32GB', 32_510, 'NVIDIA V100 SXM2 32GB 32768'],
    ['NVIDIA A100-SXM4-40GB', 40_536, 'NVIDIA A100 40GB 40960'],
    ['NVIDIA A100 80GB PCIe', 81_920, 'NVIDIA A100 80GB 81920'],
    ['NVIDIA A10', 23_028, 'NVIDIA A10 24GB 24576'],
    // Products that no type has stay what they are.
    ['NVIDIA H100 80GB HBM3', 81_559, 'NVIDIA H100 80GB HBM3 80GB 81559'],
    ['NVIDIA A100-SXM4-80GB MIG 1g.20gb', 19_968, 'NVIDIA A100-SXM4-80GB MIG 1g.20gb 20GB 19968'],
  ])('%s with %i MiB serves as %s', (product, memoryMiB, expected) => {
    expect(offered(product, memoryMiB)).toBe(expected);
  });
  it('serve as the operator maps them', () => {
    expect(offered('NVIDIA A10G', 23_028, { 'NVIDIA A10G': 'NVIDIA A10' })).toBe('NVIDIA A10 24GB 24576');
    const part = 'NVIDIA A100-SXM4-80GB MIG 1g.20gb';
    expect(offered(part, 19_968, { [part]: 'NVIDIA A10' })).toBe('NVIDIA A10 24GB 24576');
  });
  it('cannot be mapped to a model that no type has', () => {
    expect(() => new Catalog(parseConfig({ gpuModels: { a: 'b' } }))).toThrow(
      /gpuModels\.a: no instance type/,
    );
  });
  it('have the size that their name tells, or the only one of their model', () => {
    expect(catalog.gpuModels.findMemoryMiB('NVIDIA A100-SXM4-80GB')).toBe(81_920);
    expect(catalog.gpuModels.findMemoryMiB('Tesla T4')).toBe(16_384);
    expect(catalog.gpuModels.findMemoryMiB('GeForce GT 730')).toBeUndefined();
  });
});

describe('instance types', () => {
  it.each([
    ['ecs.gn7e-c16g1.4xlarge', { kind: 'whole', count: 1, models: ['NVIDIA A100 80GB'] }],
    [
      'ecs.gn7r-c16g1.4xlarge',
      { kind: 'whole', count: 1, models: ['NVIDIA GA107 (quarter of an A16 board) 16GB'] },
    ],
    ['ecs.sgn7i-vws-m8.4xlarge', { kind: 'slice', memoryMiB: 8192, computePercent: 33 }],
    ['ecs.sgn7i-vws-m4.2xlarge', { kind: 'slice', memoryMiB: 4096, computePercent: 16 }],
    ['ecs.sgn8ia-m24.12xlarge', { kind: 'slice', memoryMiB: 24_576, computePercent: 50 }],
    ['ecs.vgn6i-m4.xlarge', { kind: 'slice', memoryMiB: 4096, computePercent: 25 }],
  ])('%s asks for %o', (id, request) => {
    expect(requestOf(id)).toMatchObject(request);
  });
  it('of slices fit a card as often as their fraction says', () => {
    for (const { gpu } of catalog.instanceTypes.values()) {
      if (gpu === undefined || gpu.amount >= 1) continue;
      const request = catalog.gpuModels.requestOf(gpu);
      if (request.kind !== 'slice') expect.fail('a fraction is a slice');
      const times = Math.round(1 / gpu.amount);
      expect(request.memoryMiB * times).toBeLessThanOrEqual(gpu.memoryMiBPerCard ?? 0);
      expect(request.computePercent * times).toBeLessThanOrEqual(100);
      expect(Math.min(request.memoryMiB, request.computePercent)).toBeGreaterThan(0);
    }
  });
  it('with GPUs always name a model', () => {
    for (const { gpu } of catalog.instanceTypes.values()) {
      if (gpu) expect(catalog.gpuModels.requestOf(gpu).models).not.toEqual([]);
    }
  });
});
