import { ecs } from '@openegs/schema';
import { findOwnParameterNames } from '../../../domain/commandParameters.js';
import type { ErrorCode, Fail } from '../../../domain/errors.js';
import { createId } from '../../../domain/ids.js';
import { toSecondsTime } from '../../../store/times.js';
import { defineAction } from '../../action.js';
import { checkCommandQuota, getCommand } from './commands.js';
import { readNewTags, startInvocation } from './invocation.js';
import {
  checkTexts,
  checkType,
  checkTypeRuns,
  hasControlCharacters,
  maxKeptKB,
  maxRunKB,
  parameterErrors,
  readParameterValues,
  readScript,
  readTimeout,
  scriptErrors,
} from './script.js';
import { findTargets, tagTargetErrors, targetErrors } from './targets.js';

/** Instances that one request can name (RunCommand, parameter InstanceId). */
const maxInstances = 100;

const invocationErrors = [
  ...targetErrors,
  ...tagTargetErrors,
  ...parameterErrors,
  'Duplicate.TagKey',
  'InvalidInstance.NotMatch',
  'InvalidRepeatMode.NotFound',
  'InvalidTagKey.Malformed',
  'InvalidTagValue.Malformed',
  'InvalidTerminationMode.NotFound',
  'MissingParam.Frequency',
  'NumberExceed.Tags',
  'QuotaExceed.Tags',
  'Username.ExceedLimit',
] as const satisfies readonly ErrorCode[];

/** How a command is run, the same on RunCommand and InvokeCommand. */
interface RunOptions {
  readonly repeatMode?: string | undefined;
  readonly frequency?: string | undefined;
  readonly terminationMode?: string | undefined;
  readonly username?: string | undefined;
  readonly containerId?: string | undefined;
  readonly containerName?: string | undefined;
  readonly launcher?: string | undefined;
  readonly ossOutputDelivery?: string | undefined;
}

function checkRunOptions(
  input: RunOptions,
  fail: Fail<(typeof invocationErrors)[number] | 'InvalidParameter'>,
): void {
  const { repeatMode = 'Once', frequency, terminationMode = 'ProcessTree', username = '' } = input;
  if (!['Once', 'Period', 'NextRebootOnly', 'EveryReboot'].includes(repeatMode)) {
    fail('InvalidRepeatMode.NotFound', { mode: repeatMode });
  }
  if (repeatMode === 'Period' && frequency === undefined) fail('MissingParam.Frequency');
  if (!['Process', 'ProcessTree'].includes(terminationMode)) {
    fail('InvalidTerminationMode.NotFound', { mode: terminationMode });
  }
  if (username.length > 255) fail('Username.ExceedLimit', { limit: 255 });
  if (hasControlCharacters(username)) {
    fail('InvalidParameter', { parameter: 'Username', reason: 'it holds control characters.' });
  }
  const unbuilt = {
    RepeatMode: repeatMode === 'Once' ? undefined : repeatMode,
    Frequency: frequency,
    TerminationMode: terminationMode === 'ProcessTree' ? undefined : terminationMode,
    ContainerId: input.containerId,
    ContainerName: input.containerName,
    Launcher: input.launcher,
    OssOutputDelivery: input.ossOutputDelivery,
  };
  for (const [parameter, value] of Object.entries(unbuilt)) {
    if (value !== undefined) fail('InvalidParameter', { parameter, reason: `"${value}" is not built yet.` });
  }
}

export const runCommand = defineAction(ecs.RunCommand, {
  errors: [...scriptErrors, ...invocationErrors, 'CmdCount.ExceedQuota'],
  async change(input, { tx, cloud, caller, regionId, fail }) {
    checkType(input.type, fail);
    checkTypeRuns(input.type, fail);
    checkTexts(input, fail);
    checkRunOptions(input, fail);
    const tags = readNewTags(input.tag, fail);
    const timeoutSeconds = readTimeout(input.timeout, fail);
    const limitKB = input.keepCommand === true ? maxKeptKB : maxRunKB;
    const enabled = input.enableParameter === true;
    const isBase64 = /^base64$/i.test(input.contentEncoding ?? '');
    const script = readScript(input, isBase64, limitKB, fail);
    const parameters = readParameterValues(input.parameters, { ...script, enabled }, limitKB, fail);
    const instances = await findTargets(input, maxInstances, { db: tx.db, caller, regionId, fail });

    const scope = { accountId: caller.accountId, regionId };
    const { code } = cloud.catalog.getRegion(regionId);
    const commandId = createId('command', code);
    const id = createId('invocation', code);
    const command = {
      ...scope,
      name: input.name ?? '',
      description: input.description ?? '',
      type: input.type,
      content: script.content.toString('base64'),
      workingDirectory: input.workingDir ?? null,
      timeoutSeconds,
      hasParameters: enabled ? (1 as const) : (0 as const),
      resourceGroupId: input.resourceGroupId ?? '',
    };
    if (input.keepCommand === true) {
      await checkCommandQuota(tx.db, scope, cloud.config.quotas.commands, fail);
      await tx.db
        .insertInto('commands')
        .values({ ...command, id: commandId, invokeTimes: 1, creationTime: toSecondsTime(tx.now) })
        .execute();
    }
    await startInvocation(
      tx,
      {
        ...command,
        id,
        kind: 'command',
        commandId,
        userName: input.username ?? null,
        parameters: JSON.stringify(parameters),
      },
      instances,
      tags,
      fail,
    );
    await tx.record({
      resourceType: 'invocation',
      resourceId: id,
      action: 'RunCommand',
      after: { commandId, instanceIds: instances.map((instance) => instance.id) },
    });
    return { commandId, invokeId: id };
  },
});

export const invokeCommand = defineAction(ecs.InvokeCommand, {
  errors: [...invocationErrors, 'InvalidCmdId.NotFound'],
  async change(input, { tx, cloud, caller, regionId, fail }) {
    checkRunOptions(input, fail);
    const tags = readNewTags(input.tag, fail);
    const scope = { accountId: caller.accountId, regionId };
    const command = await getCommand(tx.db, scope, input.commandId, fail);
    checkTypeRuns(command.type, fail);
    const content = Buffer.from(command.content, 'base64');
    const enabled = command.hasParameters === 1;
    const parameterNames = findOwnParameterNames(content.toString());
    const parameters = readParameterValues(
      input.parameters,
      { content, parameterNames, enabled },
      maxKeptKB,
      fail,
    );
    const timeoutSeconds =
      input.timeout === undefined ? command.timeoutSeconds : readTimeout(input.timeout, fail);
    const instances = await findTargets(input, maxInstances, { db: tx.db, caller, regionId, fail });

    const id = createId('invocation', cloud.catalog.getRegion(regionId).code);
    await startInvocation(
      tx,
      {
        id,
        kind: 'command',
        ...scope,
        commandId: command.id,
        name: command.name,
        description: command.description,
        type: command.type,
        content: command.content,
        workingDirectory: input.workingDir ?? command.workingDirectory,
        userName: input.username ?? null,
        timeoutSeconds,
        hasParameters: command.hasParameters,
        parameters: JSON.stringify(parameters),
        resourceGroupId: input.resourceGroupId ?? '',
      },
      instances,
      tags,
      fail,
    );
    await tx.db
      .updateTable('commands')
      .set((eb) => ({ invokeTimes: eb('invokeTimes', '+', 1) }))
      .where('id', '=', command.id)
      .execute();
    await tx.record({
      resourceType: 'invocation',
      resourceId: id,
      action: 'InvokeCommand',
      after: { commandId: command.id, instanceIds: instances.map((instance) => instance.id) },
    });
    return { invokeId: id };
  },
});
