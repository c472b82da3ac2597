import type { Card } from './host.js';

/**
 * Cards of one kind serve the same requests and hold the same slices, so what is known about a
 * kind is kept once: its key.
 */
export function cardKind(card: Card): string {
  return `${card.model}|${card.memoryMiB}|${card.computePercent}`;
}
