import { ecs } from '@openegs/schema';
import { groupBy } from '../../../domain/collections.js';
import type { ErrorCode, Fail } from '../../../domain/errors.js';
import { createId, type InstanceId, type InvocationId } from '../../../domain/ids.js';
import {
  type FileDelivery,
  type OverallStatus,
  parseFileDelivery,
  summarizeStatus,
} from '../../../domain/invocation.js';
import { readTagFilters } from '../../../domain/tags.js';
import { countRows } from '../../../store/countRows.js';
import type { Invocation, InvocationRun } from '../../../store/tables.js';
import { queryTagged, readTags } from '../../../store/tags.js';
import { onPage, pageAnswer, readPage } from '../../../wire/paging.js';
import { defineAction } from '../../action.js';
import { readNewTags, startInvocation, toWireTags } from './invocation.js';
import { decodeBase64, hasControlCharacters } from './script.js';
import { queryBySummary } from './statusFilter.js';
import { findTargetsById, targetErrors } from './targets.js';

/** Instances that one request can name (SendFile, parameter InstanceId). */
const maxInstances = 50;

const maxFileKB = 32;

const fileErrors = [
  'FileContent.DecodeError',
  'FileContentType.Invalid',
  'FileDesc.ExceedLimit',
  'FileMode.Invalid',
  'FileName.ExceedLimit',
  'FileSize.ExceedLimit',
  'FileTargetDir.Invalid',
  'InvalidParameter.FileGroup',
  'InvalidParameter.FileOwner',
] as const satisfies readonly ErrorCode[];

type FileFail = Fail<(typeof fileErrors)[number] | 'InvalidParameter'>;

function readFile(
  input: ecs.SendFileRequest,
  fail: FileFail,
): { readonly content: Buffer; readonly delivery: FileDelivery } {
  const { name, description = '', targetDir, contentType = 'PlainText', fileMode = '0644' } = input;
  const { fileOwner = 'root', fileGroup = 'root' } = input;
  if (name.length > 255) fail('FileName.ExceedLimit', { limit: 255 });
  if (name.includes('/') || hasControlCharacters(name) || name === '.' || name === '..') {
    fail('InvalidParameter', { parameter: 'Name', reason: 'it is not the name of a file.' });
  }
  if (description.length > 512) fail('FileDesc.ExceedLimit', { limit: 512 });
  if (targetDir.length > 255 || !targetDir.startsWith('/') || hasControlCharacters(targetDir)) {
    fail('FileTargetDir.Invalid', { limit: 255 });
  }
  if (contentType !== 'PlainText' && contentType !== 'Base64') {
    return fail('FileContentType.Invalid', { type: contentType });
  }
  if (!/^[0-7]{3,4}$/.test(fileMode)) fail('FileMode.Invalid');
  if (fileOwner.length > 64 || hasControlCharacters(fileOwner)) {
    fail('InvalidParameter.FileOwner', { limit: 64 });
  }
  if (fileGroup.length > 64 || hasControlCharacters(fileGroup)) {
    fail('InvalidParameter.FileGroup', { limit: 64 });
  }
  const content =
    contentType === 'Base64'
      ? (decodeBase64(input.content) ?? fail('FileContent.DecodeError'))
      : Buffer.from(input.content);
  if (Math.ceil(content.length / 3) * 4 > maxFileKB * 1024)
    fail('FileSize.ExceedLimit', { limit: maxFileKB });
  const overwrite = input.overwrite === true;
  return {
    content,
    delivery: { contentType, owner: fileOwner, group: fileGroup, mode: fileMode, overwrite },
  };
}

export const sendFile = defineAction(ecs.SendFile, {
  errors: [
    ...fileErrors,
    ...targetErrors,
    'Duplicate.TagKey',
    'InvalidTagKey.Malformed',
    'InvalidTagValue.Malformed',
    'NumberExceed.Tags',
    'QuotaExceed.Tags',
  ],
  async change(input, { tx, cloud, caller, regionId, fail }) {
    const { content, delivery } = readFile(input, fail);
    const tags = readNewTags(input.tag, fail);
    const scope = { db: tx.db, caller, regionId, fail };
    const instances = await findTargetsById(input.instanceId, maxInstances, input.resourceGroupId, scope);
    const id = createId('fileInvocation', cloud.catalog.getRegion(regionId).code);
    await startInvocation(
      tx,
      {
        id,
        kind: 'file',
        accountId: caller.accountId,
        regionId,
        commandId: '',
        name: input.name,
        description: input.description ?? '',
        type: '',
        content: content.toString('base64'),
        workingDirectory: input.targetDir,
        userName: null,
        // Smaller ones are raised, as documented.
        timeoutSeconds: Math.max(input.timeout ?? 60, 10),
        file: JSON.stringify(delivery),
        resourceGroupId: input.resourceGroupId ?? '',
      },
      instances,
      tags,
      fail,
    );
    await tx.record({
      resourceType: 'invocation',
      resourceId: id,
      action: 'SendFile',
      after: { name: input.name, instanceIds: instances.map((instance) => instance.id) },
    });
    return { invokeId: id };
  },
});

const fileStatuses: readonly OverallStatus[] = ['Pending', 'Running', 'Success', 'Failed', 'PartialFailed'];

function readFileStatus(value: string | undefined, fail: FileFail): OverallStatus | undefined {
  if (value === undefined) return undefined;
  const known = fileStatuses.find((status) => status === value);
  const reason = `it is not one of ${fileStatuses.join(', ')}.`;
  return known ?? fail('InvalidParameter', { parameter: 'InvocationStatus', reason });
}

export const describeSendFileResults = defineAction(ecs.DescribeSendFileResults, {
  errors: [],
  async read(input, { db, caller, regionId, fail }) {
    const page = readPage(input, { maxPageSize: 50 });
    const scope = { accountId: caller.accountId, regionId };
    const { instanceId } = input;
    let query = db
      .selectFrom('invocations')
      .where('accountId', '=', scope.accountId)
      .where('regionId', '=', scope.regionId)
      .where('kind', '=', 'file');
    if (input.invokeId !== undefined) query = query.where('id', '=', input.invokeId as InvocationId);
    if (input.name !== undefined) query = query.where('name', '=', input.name);
    if (input.resourceGroupId !== undefined) {
      query = query.where('resourceGroupId', '=', input.resourceGroupId);
    }
    if (instanceId !== undefined) {
      query = query.where('id', 'in', (eb) =>
        eb
          .selectFrom('invocationRuns')
          .select('invocationId')
          .where('instanceId', '=', instanceId as InstanceId),
      );
    }
    const status = readFileStatus(input.invocationStatus, fail);
    if (status !== undefined) query = query.where('id', 'in', queryBySummary(db, status));
    const filters = readTagFilters(input.tag, fail);
    if (filters.length > 0) {
      const tagged = queryTagged<InvocationId>(db, { ...scope, resourceType: 'invocation' }, filters);
      query = query.where('id', 'in', tagged);
    }
    const total = await countRows(query);
    const files = await query.selectAll().$call(onPage(page, 'newest first')).execute();
    const ids = files.map((file) => file.id);
    const runs = groupBy(
      await db
        .selectFrom('invocationRuns')
        .selectAll()
        .where('invocationId', 'in', ids)
        .orderBy('sequence')
        .execute(),
      (run) => run.invocationId,
    );
    const tags = await readTags(db, 'invocation', ids);
    return {
      ...pageAnswer(page, files, total),
      invocations: {
        invocation: files.map((file) => {
          const all = runs.get(file.id) ?? [];
          const shown = all.filter((run) => instanceId === undefined || run.instanceId === instanceId);
          return {
            ...describeFile(file),
            vmCount: all.length,
            invocationStatus: summarizeStatus(all.map((run) => run.status)),
            invokeInstances: { invokeInstance: shown.map((run) => describeRun(run, file)) },
            tags: toWireTags(tags.get(file.id)),
          };
        }),
      },
    };
  },
});

function describeFile(file: Invocation) {
  const delivery = parseFileDelivery(file.file);
  const isPlain = delivery.contentType === 'PlainText';
  return {
    invokeId: file.id,
    name: file.name,
    description: file.description,
    targetDir: file.workingDirectory ?? '',
    content: isPlain ? Buffer.from(file.content, 'base64').toString() : file.content,
    contentType: delivery.contentType,
    fileOwner: delivery.owner,
    fileGroup: delivery.group,
    fileMode: delivery.mode,
    overwrite: String(delivery.overwrite),
    creationTime: file.creationTime,
  };
}

function describeRun(run: InvocationRun, file: Invocation) {
  return {
    instanceId: run.instanceId,
    invocationStatus: run.status,
    errorCode: run.errorCode,
    errorInfo: run.errorInfo,
    creationTime: file.creationTime,
    startTime: run.startTime ?? '',
    finishTime: run.finishTime ?? '',
    updateTime: run.updateTime,
  };
}
