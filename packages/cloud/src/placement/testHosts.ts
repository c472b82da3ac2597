import type { HostId, ZoneId } from '../domain/ids.js';
import type { Card, Host } from './host.js';

/** Hosts and cards for tests. */
export function testCard(id: string, change: Partial<Card> = {}): Card {
  return { id, model: 'T4', memoryMiB: 16_000, computePercent: 100, maxSlices: 25, healthy: true, ...change };
}

export function testCards(count: number, change: Partial<Card> = {}): Card[] {
  return Array.from({ length: count }, (_, index) => testCard(String(index), change));
}

export function testHost(id: string, change: Partial<Host> = {}): Host {
  return {
    id: id as HostId,
    zoneId: 'cn-hangzhou-a' as ZoneId,
    state: 'active',
    cpuMilli: 16_000,
    memoryMiB: 65_536,
    diskGiB: 500,
    cards: [],
    ...change,
  };
}
