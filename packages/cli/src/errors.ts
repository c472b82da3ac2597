/** Exit codes of every command. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** A command could not do what it was asked. Told to the user as it is, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** The code of the API or of the operator's interface, where the failure came from there. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly exitCode: number;

  constructor(
    message: string,
    details: { readonly code?: string; readonly requestId?: string; readonly exitCode?: number } = {},
  ) {
    super(message);
    this.code = details.code;
    this.requestId = details.requestId;
    this.exitCode = details.exitCode ?? exitCodes.failed;
  }
}

/** The command was called wrongly. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, { exitCode: exitCodes.usage });
  }
}

/** What went wrong, for people: code, message, and the request id that the log knows. */
export function describeError(error: unknown): { message: string; code?: string; requestId?: string } {
  if (error instanceof CommandError) {
    return {
      message: error.message,
      ...(error.code === undefined ? {} : { code: error.code }),
      ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
    };
  }
  return { message: error instanceof Error ? error.message : String(error) };
}
