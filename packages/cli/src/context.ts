import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Output } from './output.js';
import { Progress } from './progress.js';

/** What every command works with, from the options that all of them share. */
export interface Context {
  /** Absolute. */
  readonly dataDirectory: string;
  /** Whether the user named the data directory, which then wins over keys in the environment. */
  readonly isDataDirectoryNamed: boolean;
  readonly output: Output;
  readonly progress: Progress;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** How the user called this program, so that what is printed can be pasted: the launcher tells. */
export function commandName(): string {
  return process.env['EGS_COMMAND'] || 'egs';
}

/** Where a cloud lives unless told otherwise. */
export function defaultDataDirectory(): string {
  const { EGS_DATA, XDG_DATA_HOME } = process.env;
  if (EGS_DATA) return resolve(EGS_DATA);
  if (isRoot()) return '/var/lib/openegs';
  return join(XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'openegs');
}

export function createContext(command: Command): Context {
  const { data, json } = command.optsWithGlobals<{ data?: string; json?: boolean }>();
  const output = new Output(json === true);
  return {
    dataDirectory: data === undefined ? defaultDataDirectory() : resolve(data),
    isDataDirectoryNamed: data !== undefined,
    output,
    progress: new Progress(output),
  };
}
