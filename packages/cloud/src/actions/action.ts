import type { ActionSchema } from '@openegs/schema';
import type { CloudParts } from '../cloud.js';
import type { ErrorCode, Fail } from '../domain/errors.js';
import type { AccountId, RegionId, RequestId } from '../domain/ids.js';
import type { Reader, Transaction } from '../store/store.js';

/** Codes that any action may answer, because any parameter may be wrong. */
export type CommonCode = 'MissingParameter' | 'InvalidParameter' | 'InvalidParameter.Conflict';
export const commonCodes: readonly CommonCode[] = [
  'MissingParameter',
  'InvalidParameter',
  'InvalidParameter.Conflict',
];

/** Who sent the request, as its signature proved. */
export interface Caller {
  readonly accountId: AccountId;
  readonly accessKeyId: string;
}

interface CommonContext<Code extends ErrorCode> {
  readonly cloud: CloudParts;
  readonly caller: Caller;
  readonly requestId: RequestId;
  /** The region that the request names, or the cloud's first; it exists. */
  readonly regionId: RegionId;
  readonly now: Date;
  readonly fail: Fail<Code | CommonCode>;
}

/** What the handler of a reading action works with. */
export interface ReadContext<Code extends ErrorCode = never> extends CommonContext<Code> {
  readonly db: Reader;
}

/** What the handler of a changing action works with: all that it does is one transaction. */
export interface ChangeContext<Code extends ErrorCode = never> extends CommonContext<Code> {
  readonly tx: Transaction;
}

interface ReadingAction<Request, Response, Code extends ErrorCode> {
  /** Every code that the handler may answer beside the common ones. */
  readonly errors: readonly Code[];
  readonly read: (input: Request, context: ReadContext<Code>) => Promise<Response>;
}

interface ChangingAction<Request, Response, Code extends ErrorCode> {
  readonly errors: readonly Code[];
  readonly change: (input: Request, context: ChangeContext<Code>) => Promise<Response>;
}

/** An action ready to be mounted. The front door knows it only by its table, not by its types. */
export interface Action {
  readonly schema: ActionSchema<unknown, unknown>;
  readonly errors: ReadonlySet<ErrorCode>;
  readonly changes: boolean;
  readonly handle: (
    input: Record<string, unknown>,
    context: ReadContext<ErrorCode> & ChangeContext<ErrorCode>,
  ) => Promise<object>;
}

/**
 * Describes what an action does. Input and output types come from the schema; a handler that raises a
 * code which is not in `errors` does not compile. A changing handler runs inside one transaction, which
 * DryRun rolls back and which holds the answer kept for its ClientToken.
 */
export function defineAction<Request, Response extends object, const Code extends ErrorCode>(
  schema: ActionSchema<Request, Response>,
  definition: ReadingAction<Request, Response, Code> | ChangingAction<Request, Response, Code>,
): Action {
  const handler: (input: Request, context: ReadContext<Code> & ChangeContext<Code>) => Promise<Response> =
    'read' in definition ? definition.read : definition.change;
  return {
    schema: schema as ActionSchema<unknown, unknown>,
    errors: new Set<ErrorCode>([...definition.errors, ...commonCodes]),
    changes: 'change' in definition,
    // The decoder has just made the input by this very schema's table: the one place where the untyped
    // wire meets the typed inside.
    handle: (input, context) => handler(input as Request, context),
  };
}
