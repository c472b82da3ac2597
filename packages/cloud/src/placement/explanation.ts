import type { HostId } from '../domain/ids.js';
import { type CardMisfit, capacityMisfit, cardMisfit, constraintMisfit, type HostMisfit } from './filter.js';
import type { HostUsage } from './hostUsage.js';
import type { PlacementRequest } from './request.js';

export interface CardVerdict {
  readonly cardId: string;
  /** Absent when the card fits. */
  readonly misfit?: CardMisfit;
  readonly text: string;
}

export interface HostVerdict {
  readonly hostId: HostId;
  /** Absent when the host fits. */
  readonly misfit?: HostMisfit;
  readonly text: string;
  /** Empty for a request without GPU. */
  readonly cards: readonly CardVerdict[];
}

/** Says for a host and each of its cards whether it fits and, if not, why. */
export function explainHost(usage: HostUsage, request: PlacementRequest): HostVerdict {
  const misfit = capacityMisfit(usage, request) ?? constraintMisfit(usage, request);
  const { gpu } = request;
  const cards: CardVerdict[] =
    gpu === undefined
      ? []
      : usage.cards.map((card) => {
          const problem = cardMisfit(card, gpu);
          return problem === undefined
            ? { cardId: card.card.id, text: 'fits' }
            : { cardId: card.card.id, misfit: problem, text: cardText(problem) };
        });
  return misfit === undefined
    ? { hostId: usage.host.id, text: 'fits', cards }
    : { hostId: usage.host.id, misfit, text: hostText(misfit), cards };
}

/** One sentence for an API error: what no host has, with the best that is there. */
export function summarize(usages: Iterable<HostUsage>, request: PlacementRequest): string {
  const place = request.zoneId === undefined ? 'the cloud' : `zone ${request.zoneId}`;
  const counts = new Map<HostMisfit['reason'], { hosts: number; best: HostMisfit }>();
  let hosts = 0;
  for (const usage of usages) {
    const misfit = capacityMisfit(usage, request) ?? constraintMisfit(usage, request);
    if (misfit === undefined || misfit.reason === 'zone') continue;
    hosts++;
    const seen = counts.get(misfit.reason);
    if (seen === undefined) counts.set(misfit.reason, { hosts: 1, best: misfit });
    else {
      seen.hosts++;
      if (closeness(misfit) > closeness(seen.best)) seen.best = misfit;
    }
  }
  if (hosts === 0) return `There is no host in ${place}.`;
  const parts = [...counts.values()]
    .sort((a, b) => b.hosts - a.hosts)
    .map(({ hosts: count, best }) => `${count} of ${hosts}: ${hostText(best)}`);
  return `No host in ${place} has room for the request (${parts.join('; ')}).`;
}

/** Orders misfits of one reason: the larger, the nearer the host came. */
function closeness(misfit: HostMisfit): number {
  switch (misfit.reason) {
    case 'cpu':
      return misfit.freeMilli;
    case 'memory':
      return misfit.freeMiB;
    case 'disk':
      return misfit.freeGiB;
    case 'cards':
      return misfit.fitting;
    case 'zone':
    case 'state':
    case 'dedicated':
    case 'notDedicated':
    case 'constraint':
      return 0;
  }
}

export function hostText(misfit: HostMisfit): string {
  switch (misfit.reason) {
    case 'zone':
      return `is in zone ${misfit.zoneId}`;
    case 'state':
      return `the host is ${misfit.state}`;
    case 'dedicated':
      return 'the host is dedicated';
    case 'notDedicated':
      return 'not the dedicated host asked for';
    case 'constraint':
      return misfit.why;
    case 'cpu':
      return `${misfit.askedMilli / 1000} vCPU asked, at most ${misfit.freeMilli / 1000} free`;
    case 'memory':
      return `${misfit.askedMiB} MiB of memory asked, at most ${misfit.freeMiB} free`;
    case 'disk':
      return `${misfit.askedGiB} GiB of disk asked, at most ${misfit.freeGiB} free`;
    case 'cards':
      return misfit.cards === 0
        ? 'no GPU on the host'
        : `${misfit.asked} fitting GPU(s) asked, at most ${misfit.fitting} there`;
  }
}

export function cardText(misfit: CardMisfit): string {
  switch (misfit.reason) {
    case 'model':
      return `the model is ${misfit.model}`;
    case 'unhealthy':
      return 'the card is not healthy';
    case 'heldWhole':
      return 'one instance holds the whole card';
    case 'shared':
      return `${misfit.slices} slice(s) are on the card`;
    case 'slices':
      return `${misfit.slices} slices are on the card, the most it may have`;
    case 'cardMemory':
      return `${misfit.askedMiB} MiB of GPU memory asked, ${misfit.freeMiB} free`;
    case 'compute':
      return `${misfit.askedPercent} % of the card asked, ${misfit.freePercent} % free`;
  }
}
