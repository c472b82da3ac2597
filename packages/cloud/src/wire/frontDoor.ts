import { randomUUID } from 'node:crypto';
import { type ActionTable, findAction, type ProductName, productVersions } from '@openegs/schema';
import type { Logger } from 'pino';
import type { Action, Caller } from '../actions/action.js';
import type { CloudParts } from '../cloud.js';
import { ApiError, fail } from '../domain/errors.js';
import type { FaultPoints } from '../domain/faults.js';
import type { RegionId, RequestId } from '../domain/ids.js';
import { onceForToken } from './clientToken.js';
import type { WireMetrics } from './metrics.js';
import { decodeParameters } from './parameters.js';
import { ReplayGuard } from './replay.js';
import {
  answerFormat,
  defaultRequestLimits,
  type HttpRequest,
  header,
  parseRequest,
  type RequestLimits,
  type RpcRequest,
} from './request.js';
import { encodeFields, errorAnswer, statusOf, successAnswer, type WireAnswer } from './response.js';
import { readSignature } from './signature.js';
import { Throttle } from './throttle.js';

export interface FrontDoorOptions {
  readonly cloud: CloudParts;
  readonly actions: readonly Action[];
  readonly log: Logger;
  readonly metrics: WireMetrics;
  readonly limits?: RequestLimits;
  readonly now?: () => number;
  readonly faults?: FaultPoints;
}

const productOfVersion = new Map(
  Object.entries(productVersions).map(([product, version]) => [version, product as ProductName]),
);

/**
 * Answers API requests. The order of checks is fixed and stands in `answer`: parse, authenticate, replay,
 * throttle, parameters, region, client token, dry run, handle, format.
 */
export class FrontDoor {
  private readonly actions = new Map<string, Action>();
  private readonly replay: ReplayGuard;
  private readonly throttle: Throttle;
  private readonly limits: RequestLimits;

  constructor(private readonly options: FrontDoorOptions) {
    const now = options.now ?? Date.now;
    for (const action of options.actions) {
      this.actions.set(`${action.schema.product} ${action.schema.name}`, action);
    }
    this.replay = new ReplayGuard(now);
    this.throttle = new Throttle(options.cloud.config.throttle, now);
    this.limits = options.limits ?? defaultRequestLimits;
  }

  async answer(http: HttpRequest): Promise<WireAnswer> {
    const requestId = randomUUID().toUpperCase() as RequestId;
    const startedAt = performance.now();
    let product = 'unknown';
    let actionName = 'unknown';
    let table: ActionTable | undefined;
    let code = 'OK';
    try {
      const request = parseRequest(http, this.limits);
      const action = this.findAction(request);
      product = action.schema.product;
      actionName = action.schema.name;
      table = action.schema.table();

      const caller = await this.authenticate(request);
      const regionId = this.readRegion(request);
      this.throttle.check(caller.accountId, regionId, actionName);
      const input = decodeParameters(table.request, request.parameters);
      this.requireRegion(regionId);
      const result = await this.handle(action, request, requestId, caller, regionId, input);
      return successAnswer(
        actionName,
        requestId,
        encodeFields(table.response, { ...result }),
        request.format,
      );
    } catch (thrown) {
      const error = this.toApiError(thrown, requestId, actionName);
      code = error.code;
      const status = statusOf(error, table);
      return errorAnswer(error, status, requestId, header(http, 'host') ?? '', answerFormat(http));
    } finally {
      this.options.metrics.countRequest(product, actionName, code, (performance.now() - startedAt) / 1000);
    }
  }

  /** Answers a request that could not be read as far as `answer` needs it. */
  refuse(http: HttpRequest, error: ApiError): WireAnswer {
    const requestId = randomUUID().toUpperCase() as RequestId;
    this.options.metrics.countRequest('unknown', 'unknown', error.code, 0);
    return errorAnswer(error, error.status, requestId, header(http, 'host') ?? '', answerFormat(http));
  }

  private findAction(request: RpcRequest): Action {
    const product = productOfVersion.get(request.version);
    if (!product) return fail('InvalidVersion', { version: request.version });
    const action = this.actions.get(`${product} ${request.action}`);
    if (action) return action;
    if (findAction(product, request.action)) {
      this.options.metrics.countNotImplemented(product, request.action);
      return fail('InvalidAction.NotImplemented', { action: request.action, product });
    }
    return fail('InvalidAction.NotFound', { action: request.action, version: request.version });
  }

  private async authenticate(request: RpcRequest): Promise<Caller> {
    const signed = readSignature(request);
    const key = await this.options.cloud.store.reader
      .selectFrom('accessKeys')
      .select(['secret', 'accountId', 'status'])
      .where('id', '=', signed.accessKeyId)
      .executeTakeFirst();
    if (!key) return fail('InvalidAccessKeyId.NotFound');
    if (signed.securityToken !== undefined) fail('InvalidSecurityToken.Malformed');
    signed.verify(key.secret);
    if (key.status !== 'Active') fail('InvalidAccessKeyId.Inactive');
    this.replay.check(signed.accessKeyId, signed.nonce, signed.timestamp);
    return { accountId: key.accountId, accessKeyId: signed.accessKeyId };
  }

  private readRegion(request: RpcRequest): RegionId {
    const [first] = this.options.cloud.config.regions;
    return (request.parameters.get('RegionId') || first?.id || '') as RegionId;
  }

  private requireRegion(regionId: RegionId): void {
    if (!this.options.cloud.config.regions.some((region) => region.id === regionId)) {
      fail('InvalidRegionId.NotFound', { id: regionId });
    }
  }

  private async handle(
    action: Action,
    request: RpcRequest,
    requestId: RequestId,
    caller: Caller,
    regionId: RegionId,
    input: Record<string, unknown>,
  ): Promise<object> {
    const { cloud } = this.options;
    const { store } = cloud;
    const isDryRun = input['dryRun'] === true;
    const declared = { cloud, caller, requestId, regionId, hostName: request.hostName, fail };
    const actor = { name: caller.accessKeyId, accountId: caller.accountId, requestId };

    if (!action.changes) {
      const result = await requireDeclared(
        action,
        action.handle(input, {
          ...declared,
          now: new Date(),
          db: store.reader,
          prepared: undefined,
          get tx(): never {
            throw new Error(`${action.schema.name} only reads`);
          },
        }),
      );
      if (isDryRun) fail('DryRunOperation');
      return result;
    }
    const prepared = await requireDeclared(action, action.prepare(input, { ...declared, now: new Date() }));
    const result = await store.transaction(actor, async (tx) => {
      const context = { ...declared, now: tx.now, db: tx.db, tx, prepared };
      const work = () => requireDeclared(action, action.handle(input, context));
      if (isDryRun) {
        // All checks ran; raising here takes back what they did, and leaves the client token unused.
        await work();
        fail('DryRunOperation');
      }
      // Only actions that have the parameter keep their answers: that of CreateKeyPair holds a secret.
      const token = input['clientToken'];
      if (typeof token !== 'string') return work();
      return onceForToken(tx, request, token, caller.accountId, regionId, work);
    });
    this.options.faults?.reach('request.committed');
    return result;
  }

  /** Unknown errors are told to the log with all they have, and to the client with nothing. */
  private toApiError(thrown: unknown, requestId: RequestId, action: string): ApiError {
    if (thrown instanceof ApiError) return thrown;
    this.options.log.error({ err: thrown, requestId, action }, 'request failed');
    return new ApiError(
      'InternalError',
      'The request failed because of an unknown error, which is in the log under its request id.',
    );
  }
}

/** Lets pass only the codes that the action declares, should the compiler ever have been outwitted. */
async function requireDeclared<Result>(action: Action, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof ApiError && !action.errors.has(thrown.code)) {
      throw new Error(`${action.schema.name} does not declare the error ${thrown.code}`, { cause: thrown });
    }
    throw thrown;
  }
}
