import { ecs } from '@openegs/schema';
import { groupBy } from '../../../domain/collections.js';
import type { CommandId, InstanceId, InvocationId } from '../../../domain/ids.js';
import { summarizeLegacyStatus, summarizeStatus, toLegacyStatus } from '../../../domain/invocation.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import type { Invocation, InvocationRun } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction, type ReadContext } from '../../action.js';
import { toWireTags } from './invocation.js';
import { queryByStatus, readStatusFilter, selectRunStatuses } from './statusFilter.js';

const maxPageSize = 50;

/** How texts are shown: as they are when the request says so, in Base64 otherwise. */
type ShowText = (base64: string) => string;

function readShowText(contentEncoding: string | undefined): ShowText {
  if (!/^plaintext$/i.test(contentEncoding ?? '')) return (base64) => base64;
  return (base64) => Buffer.from(base64, 'base64').toString();
}

/** The caller's invocations of commands, as far as both actions select them. */
function queryInvocations(
  input: Pick<ecs.DescribeInvocationsRequest, 'invokeId' | 'commandId' | 'resourceGroupId' | 'tag'>,
  { db, caller, regionId, fail }: ReadContext,
) {
  let query = db
    .selectFrom('invocations')
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('kind', '=', 'command');
  if (input.invokeId !== undefined) query = query.where('id', '=', input.invokeId as InvocationId);
  if (input.commandId !== undefined) query = query.where('commandId', '=', input.commandId as CommandId);
  if (input.resourceGroupId !== undefined) {
    query = query.where('resourceGroupId', '=', input.resourceGroupId);
  }
  const filters = readTagFilters(input.tag, fail);
  if (filters.length > 0) {
    const scope = { resourceType: 'invocation', accountId: caller.accountId, regionId } as const;
    query = query.where('id', 'in', queryTagged<InvocationId>(db, scope, filters));
  }
  return query;
}

export const describeInvocations = defineAction(ecs.DescribeInvocations, {
  errors: [],
  async read(input, context) {
    const { db, fail } = context;
    const page = readPage(input, { maxPageSize });
    const { instanceId } = input;
    if (input.includeOutput === true && input.invokeId === undefined && instanceId === undefined) {
      fail('InvalidParameter', { parameter: 'IncludeOutput', reason: 'it needs InvokeId or InstanceId.' });
    }
    const status = readStatusFilter('InvokeStatus', input.invokeStatus, fail);
    let query = queryInvocations(input, context);
    if (input.commandType !== undefined) query = query.where('type', '=', input.commandType);
    if (instanceId !== undefined) {
      query = query.where('id', 'in', (eb) =>
        eb
          .selectFrom('invocationRuns')
          .select('invocationId')
          .where('instanceId', '=', instanceId as InstanceId),
      );
    }
    // With InstanceId, these filters are documented to have no effect.
    if (instanceId === undefined) {
      if (input.commandName !== undefined) query = query.where('name', '=', input.commandName);
      if (input.repeatMode !== undefined && input.repeatMode !== 'Once') query = query.where('id', 'in', []);
    }
    if (status !== undefined && !(status === 'PartialFailed' && instanceId !== undefined)) {
      query = query.where('id', 'in', queryByStatus(db, status));
    }
    // All were run once, and at once.
    if (input.timed === true) query = query.where('id', 'in', []);

    const total = await countRows(query);
    const invocations = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const ids = invocations.map((invocation) => invocation.id);
    const runs = await readRuns(context, ids, input.includeOutput === true);
    const tags = await readTags(db, 'invocation', ids);
    const show = readShowText(input.contentEncoding);
    return {
      ...pageAnswer(page, invocations, total),
      invocations: {
        invocation: invocations.map((invocation) => {
          const all = runs.get(invocation.id) ?? [];
          const shown = all.filter((run) => instanceId === undefined || run.instanceId === instanceId);
          const statuses = all.map((run) => run.status);
          return {
            ...describeInvocation(invocation, show),
            invocationStatus: summarizeStatus(statuses),
            invokeStatus: summarizeLegacyStatus(statuses),
            invokeInstances: {
              invokeInstance: shown.map((run) => describeRun(run, invocation, show)),
            },
            tags: toWireTags(tags.get(invocation.id)),
          };
        }),
      },
    };
  },
});

async function readRuns(
  { db }: ReadContext,
  ids: readonly InvocationId[],
  withOutput: boolean,
): Promise<Map<InvocationId, InvocationRun[]>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('invocationRuns')
    .select([
      'sequence',
      'invocationId',
      'instanceId',
      'status',
      'exitCode',
      'droppedBytes',
      'errorCode',
      'errorInfo',
      'startTime',
      'stopTime',
      'finishTime',
      'updateTime',
    ])
    .select((eb) => (withOutput ? eb.ref('output').as('output') : eb.val('').as('output')))
    .where('invocationId', 'in', ids)
    .orderBy('sequence')
    .execute();
  return groupBy(rows, (row) => row.invocationId);
}

function describeInvocation(invocation: Invocation, show: ShowText) {
  return {
    invokeId: invocation.id,
    commandId: invocation.commandId,
    commandName: invocation.name,
    commandDescription: invocation.description,
    commandType: invocation.type,
    commandContent: show(invocation.content),
    creationTime: invocation.creationTime,
    frequency: '',
    repeatMode: 'Once',
    timed: false,
    parameters: invocation.parameters,
    username: invocation.userName ?? '',
    workingDir: invocation.workingDirectory ?? '',
    timeout: invocation.timeoutSeconds,
    terminationMode: 'ProcessTree',
  };
}

function describeRun(run: InvocationRun, invocation: Invocation, show: ShowText) {
  return {
    ...describeOutcome(run, show),
    instanceInvokeStatus: toLegacyStatus(run.status),
    creationTime: invocation.creationTime,
    updateTime: run.updateTime,
    finishTime: run.finishTime ?? '',
    timed: false,
  };
}

/** What both actions say of a run, in the same words. */
function describeOutcome(run: InvocationRun, show: ShowText) {
  return {
    instanceId: run.instanceId,
    invocationStatus: run.status,
    output: show(run.output),
    dropped: run.droppedBytes,
    errorCode: run.errorCode,
    errorInfo: run.errorInfo,
    startTime: run.startTime ?? '',
    stopTime: run.stopTime ?? '',
    repeats: run.startTime === null ? 0 : 1,
    ...(run.exitCode === null ? {} : { exitCode: run.exitCode }),
  };
}

export const describeInvocationResults = defineAction(ecs.DescribeInvocationResults, {
  errors: [],
  async read(input, context) {
    const { db, fail } = context;
    const page = readPage(input, { maxPageSize });
    const status = readStatusFilter('InvokeRecordStatus', input.invokeRecordStatus, fail);
    let query = db
      .selectFrom('invocationRuns')
      .where('invocationId', 'in', queryInvocations(input, context).select('id'));
    if (input.instanceId !== undefined) {
      query = query.where('instanceId', '=', input.instanceId as InstanceId);
    }
    if (status !== undefined) query = query.where('status', 'in', selectRunStatuses(status));
    const total = await countRows(query);
    const runs = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const ids = [...new Set(runs.map((run) => run.invocationId))];
    const invocations = await db
      .selectFrom('invocations')
      .select(['id', 'commandId', 'userName'])
      .where('id', 'in', ids)
      .execute();
    const invocationOf = new Map(invocations.map((invocation) => [invocation.id, invocation]));
    const tags = await readTags(db, 'invocation', ids);
    const show = readShowText(input.contentEncoding);
    return {
      invocation: {
        ...pageAnswer(page, runs, total),
        invocationResults: {
          invocationResult: runs.map((run) => ({
            ...describeOutcome(run, show),
            invokeId: run.invocationId,
            commandId: invocationOf.get(run.invocationId)?.commandId ?? '',
            username: invocationOf.get(run.invocationId)?.userName ?? '',
            invokeRecordStatus: toLegacyStatus(run.status),
            finishedTime: run.finishTime ?? '',
            terminationMode: 'ProcessTree',
            tags: toWireTags(tags.get(run.invocationId)),
          })),
        },
      },
    };
  },
});
