import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InstanceId } from '../../../domain/ids.js';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';

let cloud: TestCloud;
let instanceId: string;
let otherId: string;
let stoppedId: string;

async function launch(tag: Ecs.RunInstancesRequestTag[] = []): Promise<string> {
  const { body } = await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId: cloud.regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.c6.large',
      instanceName: 'box',
      tag,
    }),
  );
  return body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
}

function driverOf(id: string) {
  const hostId = cloud.cloud.parts.placement.findAllocation(id as InstanceId)?.hostId;
  return hostId === 'fake-a' ? cloud.compute.a : cloud.compute.b;
}

beforeAll(async () => {
  cloud = await startTestCloud();
  const tag = [new Ecs.RunInstancesRequestTag({ key: 'role', value: 'worker' })];
  [instanceId, otherId, stoppedId] = (await Promise.all([launch(tag), launch(tag), launch()])) as [
    string,
    string,
    string,
  ];
  await cloud.cloud.reconciler.idle();
  await cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: stoppedId }));
  await cloud.cloud.reconciler.idle();
  const passwd = 'root:x:0:0:root:/root:/bin/bash\nanna:x:1001:1001::/home/anna:/bin/sh\n';
  await driverOf(instanceId).writeFile(instanceId, '/etc/passwd', Buffer.from(passwd), {
    mode: 0o644,
    userId: 0,
    groupId: 0,
  });
});
afterAll(() => cloud.stop());

/** Codes of the answer and the HTTP status, as the SDK shows them. */
async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    const { code, statusCode } = error as { code: string; statusCode: number };
    return `${statusCode} ${code}`;
  }
}

function send(request: Partial<Ecs.RunCommandRequest>) {
  return cloud.ecs.runCommand(
    new Ecs.RunCommandRequest({
      regionId: cloud.regionId,
      type: 'RunShellScript',
      commandContent: 'true',
      instanceId: [instanceId],
      ...request,
    }),
  );
}

async function sendAndGetId(request: Partial<Ecs.RunCommandRequest>): Promise<string> {
  return (await send(request)).body?.invokeId ?? '';
}

async function results(request: Partial<Ecs.DescribeInvocationResultsRequest>) {
  const { body } = await cloud.ecs.describeInvocationResults(
    new Ecs.DescribeInvocationResultsRequest({
      regionId: cloud.regionId,
      contentEncoding: 'PlainText',
      ...request,
    }),
  );
  return body?.invocation?.invocationResults?.invocationResult ?? [];
}

async function invocations(request: Partial<Ecs.DescribeInvocationsRequest>) {
  const { body } = await cloud.ecs.describeInvocations(
    new Ecs.DescribeInvocationsRequest({ regionId: cloud.regionId, ...request }),
  );
  return body?.invocations?.invocation ?? [];
}

/** Runs a command to its end and gives its only result. */
async function run(request: Partial<Ecs.RunCommandRequest>) {
  const invokeId = await sendAndGetId(request);
  await cloud.cloud.reconciler.idle();
  const [result] = await results({ invokeId });
  if (!result) throw new Error('no result');
  return result;
}

/** Waits until the program of an invocation runs in the instance. */
async function untilRunning(invokeId: string): Promise<void> {
  await expect.poll(async () => (await results({ invokeId }))[0]?.invocationStatus).toBe('Running');
}

function stop(invokeId: string, instanceIds?: string[]) {
  return cloud.ecs.stopInvocation(
    new Ecs.StopInvocationRequest({
      regionId: cloud.regionId,
      invokeId,
      ...(instanceIds === undefined ? {} : { instanceId: instanceIds }),
    }),
  );
}

describe('RunCommand', () => {
  it('runs a script in an instance and keeps what it wrote', async () => {
    const result = await run({ commandContent: 'echo hello\necho "on $HOME" >&2\npwd' });
    expect(result).toMatchObject({
      instanceId,
      invocationStatus: 'Success',
      invokeRecordStatus: 'Finished',
      exitCode: 0,
      output: 'hello\non /root\n/root\n',
      dropped: 0,
      errorCode: '',
      errorInfo: '',
      repeats: 1,
      stopTime: '',
      username: '',
    });
    expect(result.commandId).toMatch(/^c-bp1/);
    expect(result.invokeId).toMatch(/^t-bp1/);
    expect(result.startTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(result.finishedTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('asks the engine once for one command', async () => {
    const before = driverOf(instanceId).calls.get('exec') ?? 0;
    await run({ commandContent: 'echo once' });
    expect(driverOf(instanceId).calls.get('exec')).toBe(before + 1);
  });

  it('takes Base64 and answers in it', async () => {
    const invokeId = await sendAndGetId({
      commandContent: Buffer.from('echo grüße').toString('base64'),
      contentEncoding: 'base64',
    });
    await cloud.cloud.reconciler.idle();
    const [plain] = await results({ invokeId });
    const [encoded] = await results({ invokeId, contentEncoding: 'Base64' });
    expect(plain?.output).toBe('grüße\n');
    expect(Buffer.from(encoded?.output ?? '', 'base64').toString()).toBe('grüße\n');
    const [invocation] = await invocations({ invokeId });
    expect(Buffer.from(invocation?.commandContent ?? '', 'base64').toString()).toBe('echo grüße');
  });

  it('works with V1 signatures and pop-core', async () => {
    const { InvokeId } = await cloud.rpc().request<{ InvokeId: string }>('RunCommand', {
      RegionId: cloud.regionId,
      Type: 'RunShellScript',
      CommandContent: 'echo v1',
      'InstanceId.1': instanceId,
    });
    await cloud.cloud.reconciler.idle();
    expect((await results({ invokeId: InvokeId }))[0]?.output).toBe('v1\n');
  });

  it('tells the exit code of a script that failed', async () => {
    expect(await run({ commandContent: 'echo no; exit 3' })).toMatchObject({
      invocationStatus: 'Failed',
      invokeRecordStatus: 'Finished',
      exitCode: 3,
      output: 'no\n',
      errorCode: 'ExitCodeNonzero',
      errorInfo: 'the command execution exit code is not zero',
    });
  });

  it('hands a script to the interpreter that its first line names', async () => {
    expect((await run({ commandContent: '#!/bin/cat\nas it is' })).output).toBe('#!/bin/cat\nas it is');
    expect(await run({ commandContent: '#!/usr/bin/python9\n1' })).toMatchObject({
      invocationStatus: 'Failed',
      exitCode: 127,
    });
  });

  it('runs as another user in that user’s home', async () => {
    const result = await run({ commandContent: 'id; pwd; echo $USER', username: 'anna' });
    expect(result).toMatchObject({ output: '1001\n/home/anna\nanna\n', username: 'anna' });
  });

  it('runs in the directory that is asked for', async () => {
    expect((await run({ commandContent: 'pwd', workingDir: '/tmp' })).output).toBe('/tmp\n');
  });

  it('says which user or directory is missing', async () => {
    expect(await run({ commandContent: 'echo x', username: 'nobody-here' })).toMatchObject({
      invocationStatus: 'Invalid',
      invokeRecordStatus: 'Failed',
      errorCode: 'AccountNotExists',
      errorInfo: 'the specified account does not exists',
      output: '',
    });
    expect(await run({ commandContent: 'echo x', workingDir: '/no/such' })).toMatchObject({
      invocationStatus: 'Invalid',
      errorCode: 'DirectoryNotExists',
      errorInfo: 'the specified directory does not exists',
    });
  });

  it('keeps the end of long output and counts the rest', async () => {
    const line = 'x'.repeat(1000);
    const result = await run({
      commandContent: `${`echo ${line}\n`.repeat(10)}sh -c "${`echo ${line};`.repeat(5)}"; echo end`,
    });
    expect(result.dropped).toBe(0);
    await driverOf(instanceId).writeFile(instanceId, '/tmp/long', Buffer.alloc(40_000, 'y'), {
      mode: 0o644,
      userId: 0,
      groupId: 0,
    });
    const long = await run({ commandContent: 'cat /tmp/long; echo end' });
    expect(long.dropped).toBe(40_000 + 4 - 24 * 1024);
    expect(long.output).toHaveLength(24 * 1024);
    expect(long.output?.endsWith('yend\n')).toBe(true);
  });

  it('fills in parameters, also built-in ones', async () => {
    const result = await run({
      commandContent:
        'echo {{ Name }} {{other}}{{ACS::InstanceId}} {{ ACS::InstanceName }} {{ACS::RegionId}}',
      enableParameter: true,
      parameters: { name: 'Jack' },
    });
    expect(result.output).toBe(`Jack ${instanceId} box cn-hangzhou\n`);
    const [invocation] = await invocations({ invokeId: result.invokeId ?? '', contentEncoding: 'PlainText' });
    expect(invocation?.parameters).toBe('{"name":"Jack"}');
    expect(invocation?.commandContent).toContain('{{ Name }}');
  });

  it('leaves double braces alone unless parameters are enabled', async () => {
    expect((await run({ commandContent: 'echo {{name}}' })).output).toBe('{{name}}\n');
  });

  it('does not run in an instance that is not running, and says so', async () => {
    expect(await run({ instanceId: [stoppedId] })).toMatchObject({
      invocationStatus: 'Aborted',
      invokeRecordStatus: 'Failed',
      errorCode: 'InstanceNotRunning',
      errorInfo: 'the instance is not running when create task',
      repeats: 0,
      startTime: '',
    });
  });

  it('runs in all instances that have the tags', async () => {
    const invokeId = await sendAndGetId({
      instanceId: [],
      resourceTag: [new Ecs.RunCommandRequestResourceTag({ key: 'role', value: 'worker' })],
      commandContent: 'echo {{ACS::InstanceId}}',
      enableParameter: true,
    });
    await cloud.cloud.reconciler.idle();
    const outputs = (await results({ invokeId })).map((result) => result.output);
    expect(outputs.sort()).toEqual([`${instanceId}\n`, `${otherId}\n`].sort());
  });

  it('runs once for one client token', async () => {
    const token = 'token-1';
    const [first, second] = [await send({ clientToken: token }), await send({ clientToken: token })];
    expect(second.body?.invokeId).toBe(first.body?.invokeId);
    expect(await failureOf(send({ clientToken: token, name: 'other' }))).toMatch(
      /IdempotentParameterMismatch/,
    );
  });

  it('keeps the command when it is told to', async () => {
    const { body } = await send({ keepCommand: true, name: 'kept', commandContent: 'echo kept' });
    const commands = await cloud.ecs.describeCommands(
      new Ecs.DescribeCommandsRequest({ regionId: cloud.regionId, commandId: body?.commandId ?? '' }),
    );
    expect(commands.body?.commands?.command?.[0]).toMatchObject({ name: 'kept', invokeTimes: 1 });
  });

  it('refuses more runs than an instance can take', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 32; index += 1) {
      ids.push(await sendAndGetId({ commandContent: 'sleep 1000', instanceId: [otherId] }));
    }
    const late = await sendAndGetId({ commandContent: 'true', instanceId: [otherId] });
    expect((await results({ invokeId: late }))[0]).toMatchObject({
      invocationStatus: 'Aborted',
      errorCode: 'TaskConcurrencyLimit',
    });
    await Promise.all(ids.map((id) => stop(id)));
    await cloud.cloud.reconciler.idle();
  });

  const refusals: [string, Partial<Ecs.RunCommandRequest>, string][] = [
    ['no instance', { instanceId: [] }, '400 MissingParam.InstanceId'],
    ['an instance that is not there', { instanceId: ['i-no'] }, '404 InvalidInstance.NotFound'],
    [
      'more than a hundred instances',
      { instanceId: Array.from({ length: 101 }, (_, index) => `i-${index}`) },
      '403 InstanceIds.ExceedLimit',
    ],
    ['an unknown type', { type: 'RunPerlScript' }, '404 InvalidCmdType.NotFound'],
    ['a type of Windows', { type: 'RunBatScript' }, '400 InvalidInstance.NotMatch'],
    [
      'content that is not Base64',
      { commandContent: 'a*b', contentEncoding: 'Base64' },
      '400 CmdContent.DecodeError',
    ],
    ['content over 24 KB', { commandContent: 'x'.repeat(18_433) }, '403 CmdContent.ExceedLimit'],
    [
      'content over 18 KB that is kept',
      { commandContent: 'x'.repeat(13_825), keepCommand: true },
      '403 CmdContent.ExceedLimit',
    ],
    ['a long name', { name: 'n'.repeat(129) }, '403 CmdName.ExceedLimit'],
    ['a name with a bell', { name: 'a\u0007b' }, '403 InvalidParameterCharacter.CommandName'],
    ['a long description', { description: 'd'.repeat(513) }, '403 CmdDesc.ExceedLimit'],
    [
      'a description with a bell',
      { description: 'a\u0007b' },
      '403 InvalidParameterCharacter.CommandDescription',
    ],
    ['a long directory', { workingDir: `/${'d'.repeat(200)}` }, '400 InvalidParameter.WorkingDir'],
    [
      'a directory with a line break',
      { workingDir: '/tmp\n' },
      '403 InvalidParameterCharacter.CommandWorkingDir',
    ],
    ['a long user name', { username: 'u'.repeat(256) }, '403 Username.ExceedLimit'],
    ['a user name with a line break', { username: 'a\nb' }, '400 InvalidParameter'],
    ['a short time-out', { timeout: 9 }, '400 InvalidParameter'],
    ['a long time-out', { timeout: 86_401 }, '400 InvalidParameter'],
    ['an unknown repeat mode', { repeatMode: 'Twice' }, '404 InvalidRepeatMode.NotFound'],
    ['a period without frequency', { repeatMode: 'Period' }, '400 MissingParam.Frequency'],
    ['what is not built yet: repetition', { repeatMode: 'EveryReboot' }, '400 InvalidParameter'],
    ['what is not built yet: times', { frequency: 'rate(5m)' }, '400 InvalidParameter'],
    ['what is not built yet: containers', { containerName: 'web' }, '400 InvalidParameter'],
    ['what is not built yet: launchers', { launcher: 'python3 -u' }, '400 InvalidParameter'],
    ['an unknown termination mode', { terminationMode: 'All' }, '404 InvalidTerminationMode.NotFound'],
    [
      'what is not built yet: killing just one process',
      { terminationMode: 'Process' },
      '400 InvalidParameter',
    ],
    ['parameters without leave', { parameters: { a: 'b' } }, '400 Parameter.Disabled'],
    [
      'a parameter that is not there',
      { enableParameter: true, parameters: { a: 'b' } },
      '400 Parameter.NotMatched',
    ],
    [
      'a parameter that is no text',
      { enableParameter: true, commandContent: '{{a}}', parameters: { a: 1 } },
      '403 ParameterType.NotSupported',
    ],
    [
      'a parameter twice',
      { enableParameter: true, commandContent: '{{a}}', parameters: { a: '1', A: '2' } },
      '400 ParameterKey.Duplicate',
    ],
    [
      'more than ten parameters',
      {
        enableParameter: true,
        parameters: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`p${index}`, ''])),
      },
      '403 ParameterCount.ExceedLimit',
    ],
    [
      'a long key',
      { enableParameter: true, parameters: { ['k'.repeat(65)]: '' } },
      '403 ParameterKey.ExceedLimit',
    ],
    [
      'content that the parameters make too long',
      {
        enableParameter: true,
        commandContent: `echo {{a}}${' '.repeat(18_000)}`,
        parameters: { a: 'x'.repeat(1000) },
      },
      '403 CmdContent.ExceedLimit',
    ],
    ['an empty name', { enableParameter: true, commandContent: '{{ }}' }, '400 CmdParam.EmptyKey'],
    ['a wrong name', { enableParameter: true, commandContent: '{{a b}}' }, '400 CmdParam.InvalidParamName'],
    [
      'an unknown built-in name',
      { enableParameter: true, commandContent: '{{ACS::Nothing}}' },
      '400 CmdParam.InvalidParamName',
    ],
    [
      'a long name of a parameter',
      { enableParameter: true, commandContent: `{{${'n'.repeat(65)}}}` },
      '403 CmdParamName.ExceedLimit',
    ],
    [
      'more than twenty names',
      {
        enableParameter: true,
        commandContent: Array.from({ length: 21 }, (_, index) => `{{p${index}}}`).join(''),
      },
      '403 CmdParamCount.ExceedLimit',
    ],
    [
      'ids and tags',
      { resourceTag: [new Ecs.RunCommandRequestResourceTag({ key: 'role' })] },
      '400 InvalidResourceTag.ConflictWithInstanceIds',
    ],
    [
      'tags that nothing has',
      { instanceId: [], resourceTag: [new Ecs.RunCommandRequestResourceTag({ key: 'nothing' })] },
      '400 InvalidResourceTag.InstanceNotFound',
    ],
    [
      'a tag to find by without key',
      { instanceId: [], resourceTag: [new Ecs.RunCommandRequestResourceTag({ value: 'v' })] },
      '400 MissingParameter.ResourceTagKey',
    ],
    [
      'a tag to find by twice',
      {
        instanceId: [],
        resourceTag: ['a', 'a'].map((key) => new Ecs.RunCommandRequestResourceTag({ key })),
      },
      '400 Duplicate.ResourceTagKey',
    ],
    [
      'a tag twice',
      { tag: ['a', 'a'].map((key) => new Ecs.RunCommandRequestTag({ key })) },
      '400 Duplicate.TagKey',
    ],
    [
      'a reserved tag',
      { tag: [new Ecs.RunCommandRequestTag({ key: 'acs:x' })] },
      '400 InvalidTagKey.Malformed',
    ],
  ];
  it.each(refusals)('refuses %s', async (_what, request, failure) => {
    expect(await failureOf(send(request))).toBe(failure);
  });
});

describe('StopInvocation', () => {
  it('kills what runs', async () => {
    const invokeId = await sendAndGetId({ commandContent: 'echo begun; sleep 1000' });
    await untilRunning(invokeId);
    await stop(invokeId);
    await cloud.cloud.reconciler.idle();
    const [result] = await results({ invokeId });
    expect(result).toMatchObject({
      invocationStatus: 'Terminated',
      invokeRecordStatus: 'Stopped',
      output: 'begun\n',
    });
    expect(result?.stopTime).not.toBe('');
    expect((await invocations({ invokeId }))[0]).toMatchObject({
      invocationStatus: 'Stopped',
      invokeStatus: 'Stopped',
    });
  });

  it('stops it in the named instances only', async () => {
    const invokeId = await sendAndGetId({
      commandContent: 'sleep 1000',
      instanceId: [instanceId, otherId],
    });
    await expect
      .poll(async () => (await results({ invokeId })).map((result) => result.invocationStatus))
      .toEqual(['Running', 'Running']);
    await stop(invokeId, [otherId]);
    await expect
      .poll(async () => (await results({ invokeId, instanceId: otherId }))[0]?.invocationStatus)
      .toBe('Terminated');
    expect((await results({ invokeId, instanceId }))[0]?.invocationStatus).toBe('Running');
    expect((await invocations({ invokeId }))[0]?.invokeStatus).toBe('Running');
    await stop(invokeId);
    await cloud.cloud.reconciler.idle();
  });

  it('leaves what has ended as it is', async () => {
    const { invokeId = '' } = await run({ commandContent: 'echo done' });
    await stop(invokeId);
    await cloud.cloud.reconciler.idle();
    expect((await results({ invokeId }))[0]).toMatchObject({ invocationStatus: 'Success', stopTime: '' });
  });

  it('does not know invocations that are not there', async () => {
    expect(await failureOf(stop('t-no'))).toBe('404 InvalidInvokeId.NotFound');
  });

  it('refuses more than fifty instances', async () => {
    const ids = Array.from({ length: 51 }, (_, index) => `i-${index}`);
    expect(await failureOf(stop('t-no', ids))).toBe('403 InstanceIds.ExceedLimit');
  });
});

describe('DescribeInvocations', () => {
  it('sums up instances that ended differently', async () => {
    const invokeId = await sendAndGetId({
      name: 'mixed',
      description: 'two of three',
      commandContent: 'echo shown',
      instanceId: [instanceId, otherId, stoppedId],
      timeout: 120,
      tag: [new Ecs.RunCommandRequestTag({ key: 'job', value: 'mixed' })],
    });
    await cloud.cloud.reconciler.idle();
    const [invocation] = await invocations({ invokeId, includeOutput: true, contentEncoding: 'PlainText' });
    expect(invocation).toMatchObject({
      invokeId,
      commandName: 'mixed',
      commandDescription: 'two of three',
      commandType: 'RunShellScript',
      commandContent: 'echo shown',
      invocationStatus: 'PartialFailed',
      invokeStatus: 'PartialFailed',
      repeatMode: 'Once',
      timed: false,
      timeout: 120,
      parameters: '{}',
      tags: { tag: [{ tagKey: 'job', tagValue: 'mixed' }] },
    });
    const runs = invocation?.invokeInstances?.invokeInstance ?? [];
    expect(runs.map((each) => [each.instanceId, each.instanceInvokeStatus, each.output])).toEqual([
      [instanceId, 'Finished', 'shown\n'],
      [otherId, 'Finished', 'shown\n'],
      [stoppedId, 'Failed', ''],
    ]);
  });

  it('shows output only when asked to', async () => {
    const { invokeId = '' } = await run({ commandContent: 'echo secret' });
    const [invocation] = await invocations({ invokeId });
    expect(invocation?.invokeInstances?.invokeInstance?.[0]?.output).toBe('');
  });

  it('selects by name, type, command, tag, instance, state and repetition', async () => {
    const { invokeId = '', commandId = '' } = await run({ name: 'needle', commandContent: 'exit 1' });
    await run({
      name: 'mixed-2',
      instanceId: [stoppedId],
      tag: [new Ecs.RunCommandRequestTag({ key: 'k2' })],
    });
    const namesOf = async (request: Partial<Ecs.DescribeInvocationsRequest>) =>
      (await invocations({ maxResults: 50, ...request })).map((invocation) => invocation.commandName);
    expect((await invocations({ commandName: 'needle' })).map((each) => each.invokeId)).toEqual([invokeId]);
    expect(await namesOf({ commandId })).toEqual(['needle']);
    expect(await namesOf({ commandType: 'RunBatScript' })).toEqual([]);
    expect(await namesOf({ tag: [new Ecs.DescribeInvocationsRequestTag({ key: 'k2' })] })).toEqual([
      'mixed-2',
    ]);
    expect(await namesOf({ invokeStatus: 'Failed' })).toContain('mixed-2');
    expect(await namesOf({ invokeStatus: 'Finished' })).toContain('needle');
    expect(await namesOf({ invokeStatus: 'Success' })).not.toContain('needle');
    expect(await namesOf({ invokeStatus: 'Running' })).toEqual([]);
    expect(await namesOf({ invokeStatus: 'Stopping' })).toEqual([]);
    expect(await namesOf({ invokeStatus: 'PartialFailed' })).toEqual(['mixed']);
    expect(await namesOf({ invokeStatus: 'Stopped' })).not.toContain('needle');
    expect(await namesOf({ timed: true })).toEqual([]);
    expect(await namesOf({ repeatMode: 'Period' })).toEqual([]);
    const inStopped = await invocations({ instanceId: stoppedId });
    expect(inStopped[0]?.invokeInstances?.invokeInstance?.map((each) => each.instanceId)).toEqual([
      stoppedId,
    ]);
  });

  it('pages newest first in both styles', async () => {
    const first = await run({ name: 'page-1' });
    const second = await run({ name: 'page-2' });
    const page = (request: Partial<Ecs.DescribeInvocationsRequest>) =>
      cloud.ecs.describeInvocations(
        new Ecs.DescribeInvocationsRequest({ regionId: cloud.regionId, ...request }),
      );
    const { body: one } = await page({ pageSize: 1, pageNumber: 2 });
    expect(one?.invocations?.invocation?.[0]?.invokeId).toBe(first.invokeId);
    const { body: start } = await page({ maxResults: 1 });
    expect(start?.invocations?.invocation?.[0]?.invokeId).toBe(second.invokeId);
    const { body: next } = await page({ maxResults: 1, nextToken: start?.nextToken ?? '' });
    expect(next?.invocations?.invocation?.[0]?.invokeId).toBe(first.invokeId);
  });

  it('refuses output of everything, and states that do not exist', async () => {
    expect(await failureOf(invocations({ includeOutput: true }))).toBe('400 InvalidParameter');
    expect(await failureOf(invocations({ invokeStatus: 'Odd' }))).toBe('400 InvalidParameter');
    expect(await failureOf(results({ invokeRecordStatus: 'Odd' }))).toBe('400 InvalidParameter');
    expect(await failureOf(invocations({ pageSize: 51 }))).toBe('400 InvalidParameter');
  });

  it('selects single results by state and instance', async () => {
    const { invokeId = '' } = await run({ commandContent: 'exit 1' });
    expect(await results({ invokeId, invokeRecordStatus: 'Finished' })).toHaveLength(1);
    expect(await results({ invokeId, invokeRecordStatus: 'Success' })).toHaveLength(0);
    expect(await results({ invokeId, instanceId: otherId })).toHaveLength(0);
    expect(await results({ invokeId: 't-no' })).toEqual([]);
  });
});

describe('DescribeCloudAssistantStatus', () => {
  const statuses = async (request: Partial<Ecs.DescribeCloudAssistantStatusRequest>) => {
    const { body } = await cloud.ecs.describeCloudAssistantStatus(
      new Ecs.DescribeCloudAssistantStatusRequest({ regionId: cloud.regionId, ...request }),
    );
    return body?.instanceCloudAssistantStatusSet?.instanceCloudAssistantStatus ?? [];
  };
  it('is true for instances that run', async () => {
    await run({});
    const [running, stopped] = await statuses({ instanceId: [instanceId, stoppedId] });
    expect(running).toMatchObject({
      instanceId,
      cloudAssistantStatus: 'true',
      OSType: 'Linux',
      activeTaskCount: 0,
    });
    expect(running?.invocationCount).toBeGreaterThan(0);
    expect(running?.lastInvokedTime).not.toBe('');
    expect(stopped).toMatchObject({ cloudAssistantStatus: 'false', cloudAssistantVersion: '' });
  });
  it('lists all instances page by page, and none of Windows', async () => {
    expect(await statuses({ pageSize: 2 })).toHaveLength(2);
    expect(await statuses({ OSType: 'Windows' })).toEqual([]);
  });
  it('refuses instances that are not there, and too many', async () => {
    expect(await failureOf(statuses({ instanceId: ['i-no'] }))).toBe('404 InvalidInstance.NotFound');
  });
});
