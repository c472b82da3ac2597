import { z } from 'zod';
import type { GpuCard } from '../../domain/gpu.js';

/** The part of the engine's `GET /1.0/resources` that tells of cards. */
const resourcesShape = z.object({
  cards: z
    .array(
      z.object({
        pci_address: z.string().default(''),
        numa_node: z.number().default(0),
        product: z.string().default(''),
        nvidia: z
          .object({
            card_name: z.string().default(''),
            model: z.string().default(''),
            uuid: z.string().default(''),
          })
          .nullish(),
      }),
    )
    .nullish(),
});

/**
 * The NVIDIA cards that LXD or Incus finds on its host. It does not tell their memory: `memoryOf` knows it of
 * a product, and a card of which nobody knows it is left out. Health is not told either.
 */
export function parseEngineCards(
  resources: unknown,
  memoryOf: (product: string) => number | undefined,
): GpuCard[] {
  const parsed = resourcesShape.safeParse(resources);
  return (parsed.data?.cards ?? []).flatMap(({ nvidia, ...card }) => {
    const memoryMiB = nvidia ? memoryOf(nvidia.model) : undefined;
    if (!nvidia || memoryMiB === undefined) return [];
    const minor = /^nvidia(\d+)$/.exec(nvidia.card_name)?.[1];
    return [
      {
        id: nvidia.uuid || card.pci_address,
        kind: 'nvidia' as const,
        product: nvidia.model,
        memoryMiB,
        pciAddress: card.pci_address,
        numaNode: card.numa_node,
        ...(minor === undefined ? {} : { minor: Number(minor) }),
        faults: [],
      },
    ];
  });
}
