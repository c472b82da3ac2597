import { ComputeError } from '../driver.js';
import type { EngineClient } from './EngineClient.js';
import type { EngineInstance } from './instanceConfiguration.js';
import { withProbeInstance } from './withProbeInstance.js';

/** Ids that one guest gets: enough for every 16-bit user and group number. */
const idsPerGuest = 65_536;

/** After this, ids that other users of the engine may have taken meanwhile are read again. */
const refreshMs = 60_000;

interface IdMapEntry {
  readonly Hostid: number;
  readonly Maprange: number;
}

/**
 * Gives each container a range of the host's user ids of its own. The engine can choose them by itself, but
 * LXD gives the same or invalid ones to instances that are made at the same time.
 */
export class GuestIdAllocator {
  readonly #client: EngineClient;
  readonly #project: string;
  readonly #pool: string;
  #range: { readonly first: number; readonly count: number } | undefined;
  #used = new Set<number>();
  /** Given out for instances that the engine does not list yet. */
  readonly #pending = new Set<number>();
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;

  constructor(client: EngineClient, project: string, pool: string) {
    this.#client = client;
    this.#project = project;
    this.#pool = pool;
  }

  /** Does something with the first id of a free range, which counts as taken when that has succeeded. */
  async with<Result>(act: (base: number) => Promise<Result>): Promise<Result> {
    if (performance.now() - this.#loadedAtMs > refreshMs) await this.#load();
    let base = this.#take();
    if (base === undefined) {
      // Instances may have been deleted since.
      await this.#load();
      base = this.#take();
    }
    if (base === undefined) {
      const advice = 'enlarge the range of root in /etc/subuid and /etc/subgid of the host';
      throw new ComputeError('no-space', `No user ids are left for another instance: ${advice}`);
    }
    try {
      const result = await act(base);
      this.#used.add(base);
      return result;
    } finally {
      this.#pending.delete(base);
    }
  }

  #take(): number | undefined {
    if (this.#range === undefined) return undefined;
    const { first, count } = this.#range;
    // The first range is that of containers without ids of their own, which others may have on this engine.
    for (let base = first + idsPerGuest; base + idsPerGuest <= first + count; base += idsPerGuest) {
      if (!this.#used.has(base) && !this.#pending.has(base)) {
        this.#pending.add(base);
        return base;
      }
    }
    return undefined;
  }

  #load(): Promise<void> {
    this.#loading ??= (async () => {
      this.#range ??= await this.#readRange();
      const query = { recursion: '1', 'all-projects': 'true' };
      const instances = await this.#client.call<EngineInstance[]>('GET', '/1.0/instances', { query });
      const bases = instances.metadata.map(({ config }) => Number(config['volatile.idmap.base'] ?? 0));
      this.#used = new Set(bases);
      this.#loadedAtMs = performance.now();
    })().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** The engine tells its range only by what it would give to a container without ids of its own. */
  #readRange() {
    const where = { project: this.#project, pool: this.#pool };
    return withProbeInstance(this.#client, where, { type: 'none' }, ({ config }) => {
      const [entry] = JSON.parse(config['volatile.idmap.next'] ?? '[]') as IdMapEntry[];
      if (entry === undefined) throw new ComputeError('failed', 'The engine has no user ids for containers');
      return { first: entry.Hostid, count: entry.Maprange };
    });
  }
}
