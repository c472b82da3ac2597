import { ComputeError, type ComputeErrorReason } from '../driver.js';

/** What the engine says in words, and what it means for a loop. The first match counts. */
const meanings: readonly (readonly [RegExp, ComputeErrorReason])[] = [
  [/disk quota exceeded|no space left/i, 'no-space'],
  // The guest uses more than it would have left.
  [/cgroup item|setting memory limit|memory\.(limit|max)/i, 'in-use'],
  [
    /is (already )?running|not running|already (running|stopped)|is stopped|is busy|in use|is frozen/i,
    'in-use',
  ],
  [/daemon is shutting down|not (yet )?ready|database is locked|etag doesn't match/i, 'unavailable'],
  [/invalid instance name|image not provided/i, 'refused'],
  // A card that is not there, or no tools to bring its libraries in.
  [/failed to detect requested gpu|no device found|nvidia container tools/i, 'refused'],
  [/instance not found|(storage )?volume not found|no such (instance|object)|^not found/i, 'not-found'],
];

/** The engine's refusal of a call or the failure of an operation, in the terms of `ComputeError`. */
export function toComputeError(what: string, text: string, statusCode?: number): ComputeError {
  const known = meanings.find(([pattern]) => pattern.test(text));
  return new ComputeError(known?.[1] ?? reasonOfStatus(statusCode), `${what}: ${text}`);
}

function reasonOfStatus(statusCode: number | undefined): ComputeErrorReason {
  switch (statusCode) {
    case 400:
    case 401:
    case 403:
      return 'refused';
    case 404:
      return 'not-found';
    case 409:
      return 'in-use';
    case 412:
    case 502:
    case 503:
      return 'unavailable';
    default:
      return 'failed';
  }
}

/** The connection could not be made or broke: the daemon is down, restarts, or the network fails. */
export function toUnavailable(what: string, cause: unknown): ComputeError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ComputeError('unavailable', `${what}: ${message}`, { cause });
}

/** Turns `not-found` into `undefined`. */
export async function ignoreMissing<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ComputeError && error.reason === 'not-found') return undefined;
    throw error;
  }
}
