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
  /** Host and port by which the client reached the cloud. */
  readonly hostName: string;
  readonly now: Date;
  readonly fail: Fail<Code | CommonCode>;
}

/** What the handler of a reading action works with. */
export interface ReadContext<Code extends ErrorCode = never> extends CommonContext<Code> {
  readonly db: Reader;
}

/** What the preparation of a changing action works with. */
export type PrepareContext<Code extends ErrorCode = never> = CommonContext<Code>;

/** What the handler of a changing action works with: all that it does is one transaction. */
export interface ChangeContext<Code extends ErrorCode = never, Prepared = undefined>
  extends CommonContext<Code> {
  readonly tx: Transaction;
  /** What the action's `prepare` gave. */
  readonly prepared: Prepared;
}

interface ReadingAction<Request, Response, Code extends ErrorCode> {
  /** Every code that the handler may answer beside the common ones. */
  readonly errors: readonly Code[];
  readonly read: (input: Request, context: ReadContext<Code>) => Promise<Response>;
}

interface ChangingAction<Request, Response, Code extends ErrorCode, Prepared> {
  readonly errors: readonly Code[];
  /**
   * Slow work that the change needs, such as hashing a password or making a key. It runs before the
   * transaction, since all others wait while one is open, and has no effects. It also runs for requests
   * that then turn out to be repeated or refused.
   */
  readonly prepare?: (input: Request, context: PrepareContext<Code>) => Promise<Prepared>;
  readonly change: (input: Request, context: ChangeContext<Code, Prepared>) => Promise<Response>;
}

type AnyContext<Code extends ErrorCode, Prepared> = ReadContext<Code> & ChangeContext<Code, Prepared>;

/** An action ready to be mounted. The front door knows it only by its table, not by its types. */
export interface Action {
  readonly schema: ActionSchema<unknown, unknown>;
  readonly errors: ReadonlySet<ErrorCode>;
  readonly changes: boolean;
  readonly prepare: (input: Record<string, unknown>, context: PrepareContext<ErrorCode>) => Promise<unknown>;
  readonly handle: (
    input: Record<string, unknown>,
    context: AnyContext<ErrorCode, unknown>,
  ) => Promise<object>;
}

/**
 * Describes what an action does. Input and output types come from the schema; a handler that raises a
 * code which is not in `errors` does not compile. A changing handler runs inside one transaction, which
 * DryRun rolls back and which holds the answer kept for its ClientToken.
 */
export function defineAction<
  Request,
  Response extends object,
  const Code extends ErrorCode,
  Prepared = undefined,
>(
  schema: ActionSchema<Request, Response>,
  definition: ReadingAction<Request, Response, Code> | ChangingAction<Request, Response, Code, Prepared>,
): Action {
  const handler: (input: Request, context: AnyContext<Code, Prepared>) => Promise<Response> =
    'read' in definition ? definition.read : definition.change;
  const prepare = 'prepare' in definition ? definition.prepare : undefined;
  return {
    schema: schema as ActionSchema<unknown, unknown>,
    errors: new Set<ErrorCode>([...definition.errors, ...commonCodes]),
    changes: 'change' in definition,
    // The decoder has just made the input by this very schema's table, and `prepared` comes from this
    // very `prepare`: the one place where the untyped wire meets the typed inside.
    prepare: async (input, context) => prepare?.(input as Request, context),
    handle: (input, context) => handler(input as Request, context as AnyContext<Code, Prepared>),
  };
}

/**
 * The same action under another product: some VPC actions are also part of ECS, with fewer parameters and
 * fields. What the other table does not have is neither read nor answered.
 */
export function aliasOf<Request, Response>(schema: ActionSchema<Request, Response>, action: Action): Action {
  return { ...action, schema: schema as ActionSchema<unknown, unknown> };
}
