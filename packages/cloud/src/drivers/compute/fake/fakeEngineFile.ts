import Database from 'better-sqlite3';
import type { FileAttributes, InstanceSpec } from '../driver.js';

/** A file in the guest of a fake instance. */
export interface FakeFile extends FileAttributes {
  readonly content: Uint8Array;
}

/** What a fake instance is, as far as it outlives the process. */
export interface FakeInstanceRecord {
  readonly spec: InstanceSpec;
  readonly running: boolean;
}

/** Where a `FakeComputeDriver` keeps what an engine would keep. */
export interface FakeEngineFile {
  loadInstances(): FakeInstanceRecord[];
  loadImages(): string[];
  loadVolumes(): { readonly name: string; readonly sizeGiB: number }[];
  /** Files of instances, volumes and images, under the name of each. */
  loadFiles(): { readonly name: string; readonly path: string; readonly file: FakeFile }[];
  saveInstance(record: FakeInstanceRecord): void;
  removeInstance(name: string): void;
  saveImage(alias: string): void;
  removeImage(alias: string): void;
  saveVolume(name: string, sizeGiB: number): void;
  removeVolume(name: string): void;
  saveFile(name: string, path: string, file: FakeFile): void;
  close(): void;
}

interface InstanceRow {
  readonly spec: string;
  readonly running: number;
}
interface FileRow {
  readonly name: string;
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
  readonly userId: number;
  readonly groupId: number;
}

/**
 * Opens (or makes) the file. It survives a killed process, as an engine's instances survive the control
 * plane; it need not survive a power cut, hence no sync.
 */
export function openFakeEngineFile(file: string): FakeEngineFile {
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = OFF');
  database.exec(`
    CREATE TABLE IF NOT EXISTS instances (name TEXT PRIMARY KEY, spec TEXT NOT NULL, running INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS images (alias TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS volumes (name TEXT PRIMARY KEY, sizeGiB INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (name TEXT, path TEXT, content BLOB NOT NULL, mode INTEGER NOT NULL,
      userId INTEGER NOT NULL, groupId INTEGER NOT NULL, PRIMARY KEY (name, path)) WITHOUT ROWID;`);
  const saveInstance = database.prepare('INSERT OR REPLACE INTO instances VALUES (?, ?, ?)');
  const removeInstance = database.prepare('DELETE FROM instances WHERE name = ?');
  const removeFiles = database.prepare('DELETE FROM files WHERE name = ?');
  const saveImage = database.prepare('INSERT OR REPLACE INTO images VALUES (?)');
  const removeImage = database.prepare('DELETE FROM images WHERE alias = ?');
  const saveVolume = database.prepare('INSERT OR REPLACE INTO volumes VALUES (?, ?)');
  const removeVolume = database.prepare('DELETE FROM volumes WHERE name = ?');
  const saveFile = database.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)');
  return {
    loadInstances: () =>
      database
        .prepare<[], InstanceRow>('SELECT spec, running FROM instances')
        .all()
        .map((row) => ({ spec: JSON.parse(row.spec), running: row.running === 1 })),
    loadImages: () =>
      database
        .prepare<[], { alias: string }>('SELECT alias FROM images')
        .all()
        .map((row) => row.alias),
    loadVolumes: () => database.prepare<[], { name: string; sizeGiB: number }>('SELECT * FROM volumes').all(),
    loadFiles: () =>
      database
        .prepare<[], FileRow>('SELECT * FROM files')
        .all()
        .map(({ name, path, ...file }) => ({ name, path, file })),
    saveInstance: ({ spec, running }) => saveInstance.run(spec.name, JSON.stringify(spec), running ? 1 : 0),
    removeInstance: (name) => {
      removeFiles.run(name);
      removeInstance.run(name);
    },
    saveImage: (alias) => saveImage.run(alias),
    removeImage: (alias) => {
      removeFiles.run(alias);
      removeImage.run(alias);
    },
    saveVolume: (name, sizeGiB) => saveVolume.run(name, sizeGiB),
    removeVolume: (name) => {
      removeFiles.run(name);
      removeVolume.run(name);
    },
    saveFile: (name, path, file) =>
      saveFile.run(name, path, Buffer.from(file.content), file.mode, file.userId, file.groupId),
    close: () => database.close(),
  };
}

/** Keeps nothing: the instances end with the process. */
export function noFakeEngineFile(): FakeEngineFile {
  return {
    loadInstances: () => [],
    loadImages: () => [],
    loadVolumes: () => [],
    loadFiles: () => [],
    saveInstance: () => undefined,
    removeInstance: () => undefined,
    saveImage: () => undefined,
    removeImage: () => undefined,
    saveVolume: () => undefined,
    removeVolume: () => undefined,
    saveFile: () => undefined,
    close: () => undefined,
  };
}
