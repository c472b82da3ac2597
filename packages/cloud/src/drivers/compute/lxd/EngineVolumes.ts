import { ComputeError, type ObservedVolume, type VolumeSpec } from '../driver.js';
import type { EngineClient } from './EngineClient.js';
import { ignoreMissing } from './engineErrors.js';
import { cloudKey, parseSizeMiB } from './instanceConfiguration.js';

/**
 * Holds the volume's own name when all of it is there. A daemon that dies while it makes a volume leaves a
 * record without; a copy has the name of its source at first.
 */
const completeKey = 'user.egs.complete';

interface EngineVolume {
  readonly name: string;
  readonly type: string;
  readonly config: Readonly<Record<string, string>>;
}

/** The custom volumes of one pool that belong to a cloud. */
export class EngineVolumes {
  readonly #base: string;

  constructor(
    private readonly client: EngineClient,
    private readonly where: {
      readonly project: string;
      readonly pool: string;
      readonly cloud: string;
    },
  ) {
    this.#base = `/1.0/storage-pools/${where.pool}/volumes/custom`;
  }

  /** Also those that were never finished, so that they are found and removed. */
  async list(): Promise<ObservedVolume[]> {
    const query = { project: this.where.project, recursion: '1' };
    const { metadata } = await this.client.call<EngineVolume[] | null>('GET', this.#base, { query });
    return (metadata ?? [])
      .filter((volume) => this.#isOurs(volume))
      .map((volume) => ({ name: volume.name, sizeGiB: sizeOf(volume) }));
  }

  async create(spec: VolumeSpec): Promise<void> {
    const existing = await this.#find(spec.name);
    if (existing?.config[completeKey] === spec.name) return;
    if (existing !== undefined) await this.delete(spec.name);
    const { name, sizeGiB, source } = spec;
    const size = `${sizeGiB}GiB`;
    if (source === undefined) {
      const config = { size, [cloudKey]: this.where.cloud };
      await this.#run('POST', this.#base, { name, type: 'custom', content_type: 'filesystem', config });
    } else {
      // Without a configuration of its own the copy takes the source's, and with it the engine's note of
      // whose user ids the files have: the engine rewrites the owner of every file when a volume comes to
      // another instance. (`security.shifted` would spare it that, but is refused by kernels and pools that
      // have no mapped mounts, and only at the attachment.)
      const from = { type: 'copy', pool: this.where.pool, name: source, volume_only: true };
      await this.#get(source);
      await this.#run('POST', this.#base, { name, type: 'custom', source: from });
    }
    await this.#run('PATCH', this.#path(name), { config: { size, [completeKey]: name } });
  }

  async grow(name: string, sizeGiB: number): Promise<void> {
    const volume = await this.#get(name);
    const now = sizeOf(volume);
    if (sizeGiB === now) return;
    if (sizeGiB < now) throw new ComputeError('refused', `Volume ${name} cannot shrink`);
    await this.#run('PATCH', this.#path(name), { config: { size: `${sizeGiB}GiB` } });
  }

  async delete(name: string): Promise<void> {
    if ((await this.#find(name)) === undefined) return;
    await ignoreMissing(this.#run('DELETE', this.#path(name)));
  }

  async getUsage(name: string): Promise<{ readonly usedBytes: number }> {
    await this.#get(name);
    const { metadata } = await this.client.call<{ usage?: { used?: number } }>(
      'GET',
      `${this.#path(name)}/state`,
      { query: { project: this.where.project } },
    );
    return { usedBytes: metadata.usage?.used ?? 0 };
  }

  #path(name: string): string {
    return `${this.#base}/${encodeURIComponent(name)}`;
  }

  async #run(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<void> {
    await this.client.run(method, path, {
      query: { project: this.where.project },
      ...(body === undefined ? {} : { body }),
    });
  }

  async #find(name: string): Promise<EngineVolume | undefined> {
    const query = { project: this.where.project };
    const reply = await ignoreMissing(this.client.call<EngineVolume>('GET', this.#path(name), { query }));
    if (reply === undefined) return undefined;
    if (!this.#isOurs(reply.metadata)) {
      throw new ComputeError('refused', `The name ${name} is taken by a volume that is not ours`);
    }
    return reply.metadata;
  }

  async #get(name: string): Promise<EngineVolume> {
    const found = await this.#find(name);
    if (found === undefined) throw new ComputeError('not-found', `No volume ${name}`);
    return found;
  }

  #isOurs({ type, config }: EngineVolume): boolean {
    return type === 'custom' && config[cloudKey] === this.where.cloud;
  }
}

function sizeOf({ config }: EngineVolume): number {
  return Math.floor(parseSizeMiB(config['size'] ?? '0') / 1024);
}
