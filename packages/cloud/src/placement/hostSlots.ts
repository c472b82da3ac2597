import type { HostId } from '../domain/ids.js';
import type { HostUsage } from './hostUsage.js';

/** Older changes are dropped; who has not seen them looks at all hosts. */
const keptChanges = 65_536;

/** Hosts in a fixed order, that of joining, with the record of which changed when. */
export class HostSlots {
  /** A place stays empty when its host leaves, until a new one takes it. */
  readonly slots: (HostUsage | undefined)[] = [];
  readonly #slotOf = new Map<HostId, number>();
  readonly #empty: number[] = [];
  #changes: number[] = [];
  #dropped = 0;
  /** By place: the last look at the changes in which it was met. */
  readonly #roundOf: number[] = [];
  #round = 0;

  find(hostId: HostId): HostUsage | undefined {
    const slot = this.#slotOf.get(hostId);
    return slot === undefined ? undefined : this.slots[slot];
  }

  *[Symbol.iterator](): Generator<HostUsage, void, undefined> {
    for (const usage of this.slots) if (usage !== undefined) yield usage;
  }

  put(usage: HostUsage): void {
    const slot = this.#slotOf.get(usage.host.id) ?? this.#empty.pop() ?? this.slots.length;
    this.slots[slot] = usage;
    this.#slotOf.set(usage.host.id, slot);
    this.#record(slot);
  }

  remove(hostId: HostId): void {
    const slot = this.#slotOf.get(hostId);
    if (slot === undefined) return;
    this.slots[slot] = undefined;
    this.#slotOf.delete(hostId);
    this.#empty.push(slot);
    this.#record(slot);
  }

  /** Says that what is free on the host has changed. */
  changed(hostId: HostId): void {
    const slot = this.#slotOf.get(hostId);
    if (slot !== undefined) this.#record(slot);
  }

  /** How many changes there have been. */
  get revision(): number {
    return this.#dropped + this.#changes.length;
  }

  /** The places changed since `revision`, each once; undefined: too many to tell. */
  changedSince(revision: number): readonly number[] | undefined {
    const from = revision - this.#dropped;
    if (from < 0 || this.#changes.length - from > this.slots.length) return undefined;
    const changed: number[] = [];
    this.#round++;
    for (let i = from; i < this.#changes.length; i++) {
      const slot = this.#changes[i] ?? 0;
      if (this.#roundOf[slot] === this.#round) continue;
      this.#roundOf[slot] = this.#round;
      changed.push(slot);
    }
    return changed;
  }

  #record(slot: number): void {
    this.#changes.push(slot);
    if (this.#changes.length < 2 * keptChanges) return;
    this.#dropped += keptChanges;
    this.#changes = this.#changes.slice(keptChanges);
  }
}
