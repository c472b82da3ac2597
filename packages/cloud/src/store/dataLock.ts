import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Another process works on the same data directory. */
export class DataInUseError extends Error {
  override readonly name = 'DataInUseError';
}

/**
 * Takes a data directory for this process alone: two clouds on one state would undo each other's work.
 * The kernel gives the lock back when the process ends, however it ends.
 */
export function lockDataDirectory(directory: string): { release(): void } {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, 'lock');
  const lock = new Database(file, { timeout: 0 });
  try {
    chmodSync(file, 0o600);
    // The locks of SQLite are what Node has of file locks.
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') {
      throw new DataInUseError(`another cloud is running on ${directory}`);
    }
    throw error;
  }
  return { release: () => lock.close() };
}
