import { posix } from 'node:path';
import { ComputeError, type InstanceDisk, type ObservedVolume, type VolumeSpec } from '../driver.js';
import type { FakeEngineFile, FakeFile } from './fakeEngineFile.js';

interface FakeVolume {
  sizeGiB: number;
  readonly files: Map<string, FakeFile>;
}

/** Volumes of a `FakeComputeDriver`, with the files that guests wrote to them. */
export class FakeVolumes {
  readonly #volumes = new Map<string, FakeVolume>();

  constructor(private readonly file: FakeEngineFile) {
    for (const { name, sizeGiB } of file.loadVolumes())
      this.#volumes.set(name, { sizeGiB, files: new Map() });
  }

  list(): ObservedVolume[] {
    return Array.from(this.#volumes, ([name, { sizeGiB }]) => ({ name, sizeGiB }));
  }

  create({ name, sizeGiB, source }: VolumeSpec): void {
    if (this.#volumes.has(name)) return;
    const files = source === undefined ? [] : [...this.#get(source).files];
    this.file.saveVolume(name, sizeGiB);
    const volume: FakeVolume = { sizeGiB, files: new Map() };
    this.#volumes.set(name, volume);
    for (const [path, content] of files) this.#write(name, volume, path, content);
  }

  grow(name: string, sizeGiB: number): void {
    const volume = this.#get(name);
    if (sizeGiB < volume.sizeGiB) throw new ComputeError('refused', `Volume ${name} cannot shrink`);
    volume.sizeGiB = sizeGiB;
    this.file.saveVolume(name, sizeGiB);
  }

  delete(name: string): void {
    this.#volumes.delete(name);
    this.file.removeVolume(name);
  }

  getUsedBytes(name: string): number {
    return [...this.#get(name).files.values()].reduce((sum, { content }) => sum + content.length, 0);
  }

  /** A file that was there before the process began. */
  restoreFile(name: string, path: string, file: FakeFile): void {
    this.#volumes.get(name)?.files.set(path, file);
  }

  /** Ends the call unless all of them are there. */
  require(disks: readonly InstanceDisk[]): void {
    for (const { volume } of disks) this.#get(volume);
  }

  /** The file behind a path in a guest with these disks; `undefined` when the path is on its root disk. */
  find(disks: readonly InstanceDisk[], path: string): FakeFileOnDisk | undefined {
    const disk = disks.find((each) => path.startsWith(`${each.path}/`));
    const volume = disk && this.#volumes.get(disk.volume);
    if (!volume) return undefined;
    const onDisk = posix.normalize(path.slice(disk.path.length));
    return {
      read: () => volume.files.get(onDisk),
      write: (file) => this.#write(disk.volume, volume, onDisk, file),
    };
  }

  #write(name: string, volume: FakeVolume, path: string, file: FakeFile): void {
    volume.files.set(path, file);
    this.file.saveFile(name, path, file);
  }

  #get(name: string): FakeVolume {
    const volume = this.#volumes.get(name);
    if (volume === undefined) throw new ComputeError('not-found', `No volume ${name}`);
    return volume;
  }
}

export interface FakeFileOnDisk {
  readonly read: () => FakeFile | undefined;
  readonly write: (file: FakeFile) => void;
}
