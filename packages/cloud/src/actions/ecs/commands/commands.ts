import { ecs } from '@openegs/schema';
import { findOwnParameterNames } from '../../../domain/commandParameters.js';
import type { Fail } from '../../../domain/errors.js';
import { type AccountId, type CommandId, createId, type RegionId } from '../../../domain/ids.js';
import { openRunStatuses } from '../../../domain/invocation.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import { matchesPattern } from '../../../store/patterns.js';
import type { Reader } from '../../../store/store.js';
import type { Command } from '../../../store/tables.js';
import { deleteTags, putTags, queryTagged, readTags } from '../../../store/tags.js';
import { toSecondsTime } from '../../../store/times.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { readNewTags, toWireTags } from './invocation.js';
import { checkTexts, checkType, maxKeptKB, readScript, readTimeout, scriptErrors } from './script.js';

/** The account's stored command with this id. */
export async function getCommand(
  db: Reader,
  scope: { readonly accountId: AccountId; readonly regionId: RegionId },
  id: string,
  fail: Fail<'InvalidCmdId.NotFound'>,
): Promise<Command> {
  const command = await db
    .selectFrom('commands')
    .selectAll()
    .where('id', '=', id as CommandId)
    .where('accountId', '=', scope.accountId)
    .where('regionId', '=', scope.regionId)
    .executeTakeFirst();
  return command ?? fail('InvalidCmdId.NotFound', { id });
}

/** Ends the request when the account has as many stored commands as it may. */
export async function checkCommandQuota(
  db: Reader,
  scope: { readonly accountId: AccountId; readonly regionId: RegionId },
  quota: number,
  fail: Fail<'CmdCount.ExceedQuota'>,
): Promise<void> {
  const { total } = await db
    .selectFrom('commands')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('accountId', '=', scope.accountId)
    .where('regionId', '=', scope.regionId)
    .executeTakeFirstOrThrow();
  if (total >= quota) fail('CmdCount.ExceedQuota', { quota });
}

export const createCommand = defineAction(ecs.CreateCommand, {
  errors: [
    ...scriptErrors,
    'CmdCount.ExceedQuota',
    'Duplicate.TagKey',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'NumberExceed.Tags',
    'QuotaExceed.Tags',
  ],
  async change(input, { tx, cloud, caller, regionId, fail }) {
    checkType(input.type, fail);
    checkTexts(input, fail);
    if (input.launcher !== undefined) {
      fail('InvalidParameter', { parameter: 'Launcher', reason: 'it is not built yet.' });
    }
    const tags = readNewTags(input.tag, fail);
    const timeoutSeconds = readTimeout(input.timeout, fail);
    // The opposite default of RunCommand's.
    const isBase64 = !/^plaintext$/i.test(input.contentEncoding ?? '');
    const { content } = readScript(input, isBase64, maxKeptKB, fail);
    const scope = { accountId: caller.accountId, regionId };
    await checkCommandQuota(tx.db, scope, cloud.config.quotas.commands, fail);

    const id = createId('command', cloud.catalog.getRegion(regionId).code);
    await tx.db
      .insertInto('commands')
      .values({
        ...scope,
        id,
        name: input.name,
        description: input.description ?? '',
        type: input.type,
        content: content.toString('base64'),
        workingDirectory: input.workingDir ?? null,
        timeoutSeconds,
        hasParameters: input.enableParameter === true ? 1 : 0,
        resourceGroupId: input.resourceGroupId ?? '',
        creationTime: toSecondsTime(tx.now),
      })
      .execute();
    await putTags(tx, { ...scope, resourceType: 'command', resourceId: id }, tags, fail);
    await tx.record({ resourceType: 'command', resourceId: id, action: 'CreateCommand' });
    return { commandId: id };
  },
});

export const describeCommands = defineAction(ecs.DescribeCommands, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const page = readPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId };
    let query = db
      .selectFrom('commands')
      .where('accountId', '=', scope.accountId)
      .where('regionId', '=', scope.regionId);
    if (input.commandId !== undefined) query = query.where('id', '=', input.commandId as CommandId);
    if (input.name !== undefined) query = query.where(matchesPattern('name', input.name));
    if (input.description !== undefined) {
      query = query.where(matchesPattern('description', input.description));
    }
    if (input.type !== undefined) query = query.where('type', '=', input.type);
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    // Commands that a provider made for all: there are none here.
    if (input.provider !== undefined) query = query.where('id', 'in', []);
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) {
      const tagged = queryTagged<CommandId>(db, { ...scope, resourceType: 'command' }, filters);
      query = query.where('id', 'in', tagged);
    }
    const total = await countRows(query);
    const rows = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const tags = await readTags(
      db,
      'command',
      rows.map((row) => row.id),
    );
    const isPlain = /^plaintext$/i.test(input.contentEncoding ?? '');
    return {
      ...pageAnswer(page, rows, total),
      commands: {
        command: rows.map((row) => ({
          ...describe(row, isPlain),
          tags: toWireTags(tags.get(row.id)),
        })),
      },
    };
  },
});

function describe(command: Command, isPlain: boolean) {
  const text = Buffer.from(command.content, 'base64').toString();
  const names = command.hasParameters === 1 ? findOwnParameterNames(text) : [];
  return {
    commandId: command.id,
    name: command.name,
    description: command.description,
    type: command.type,
    commandContent: isPlain ? text : command.content,
    workingDir: command.workingDirectory ?? '',
    timeout: command.timeoutSeconds,
    enableParameter: command.hasParameters === 1,
    parameterNames: { parameterName: names },
    parameterDefinitions: {
      parameterDefinition: names.map((parameterName) => ({
        parameterName,
        description: '',
        defaultValue: '',
        required: false,
        possibleValues: { possibleValue: [] },
      })),
    },
    invokeTimes: command.invokeTimes,
    creationTime: command.creationTime,
    resourceGroupId: command.resourceGroupId,
    category: '',
    provider: '',
  };
}

export const modifyCommand = defineAction(ecs.ModifyCommand, {
  errors: [
    'CmdDesc.ExceedLimit',
    'CmdName.ExceedLimit',
    'InvalidCmdId.NotFound',
    'InvalidParameter.WorkingDir',
    'InvalidParameterCharacter.CommandDescription',
    'InvalidParameterCharacter.CommandName',
    'InvalidParameterCharacter.CommandWorkingDir',
  ],
  async change(input, { tx, caller, regionId, fail }) {
    checkTexts(input, fail);
    if (input.launcher !== undefined) {
      fail('InvalidParameter', { parameter: 'Launcher', reason: 'it is not built yet.' });
    }
    const scope = { accountId: caller.accountId, regionId };
    const command = await getCommand(tx.db, scope, input.commandId, fail);
    const changes = {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.description === undefined ? {} : { description: input.description }),
      ...(input.workingDir === undefined ? {} : { workingDirectory: input.workingDir }),
      ...(input.timeout === undefined ? {} : { timeoutSeconds: readTimeout(input.timeout, fail) }),
    };
    if (Object.keys(changes).length === 0) return {};
    await tx.db.updateTable('commands').set(changes).where('id', '=', command.id).execute();
    await tx.record({
      resourceType: 'command',
      resourceId: command.id,
      action: 'ModifyCommand',
      after: changes,
    });
    return {};
  },
});

export const deleteCommand = defineAction(ecs.DeleteCommand, {
  errors: ['InvalidCmdId.NotFound', 'InvalidStatus.CmdIdInUse'],
  async change({ commandId }, { tx, caller, regionId, fail }) {
    const scope = { accountId: caller.accountId, regionId };
    const { id } = await getCommand(tx.db, scope, commandId, fail);
    const open = await tx.db
      .selectFrom('invocationRuns')
      .innerJoin('invocations', 'invocations.id', 'invocationRuns.invocationId')
      .select('invocations.id')
      .where('invocations.commandId', '=', id)
      .where('invocations.accountId', '=', scope.accountId)
      .where('invocationRuns.status', 'in', openRunStatuses)
      .limit(1)
      .executeTakeFirst();
    if (open) fail('InvalidStatus.CmdIdInUse', { id });
    await deleteTags(tx, 'command', [id]);
    await tx.db.deleteFrom('commands').where('id', '=', id).execute();
    await tx.record({ resourceType: 'command', resourceId: id, action: 'DeleteCommand' });
    return {};
  },
});
