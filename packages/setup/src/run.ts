import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';

/** A step of the set-up failed. The message says what to do about it where that is known. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}

/** A program ended with an error. */
export class ProgramError extends SetupError {
  constructor(
    message: string,
    readonly stdout: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs a program to its end and gives its standard output. Arguments reach it as they are: there is no
 * shell. Throws a `ProgramError` that carries what the program wrote to standard error.
 */
export function run(
  program: string,
  programArguments: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      [...programArguments],
      {
        env: { ...process.env, LC_ALL: 'C', ...options.environment },
        maxBuffer: 64 * 1024 * 1024,
        timeout: options.timeoutMs ?? 0,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else {
          const detail = stderr.trim().split('\n').slice(-5).join('\n') || error.message;
          reject(new ProgramError(`${program} failed: ${detail}`, stdout, { cause: error }));
        }
      },
    );
  });
}

/** The full path of a program, looked for as a root shell would; `undefined` when it is not installed. */
export async function findProgram(name: string): Promise<string | undefined> {
  const { PATH = '' } = process.env;
  const directories = PATH.split(':').concat('/usr/local/sbin', '/usr/sbin', '/sbin');
  for (const directory of directories) {
    const path = `${directory}/${name}`;
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) return path;
  }
  return undefined;
}
