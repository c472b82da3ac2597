import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../../testing/testCloud.js';

let cloud: TestCloud;
let instanceId: string;
beforeAll(async () => {
  cloud = await startTestCloud({ config: { quotas: { commands: 10 } } });
  const { body } = await cloud.ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId: cloud.regionId,
      imageId: 'debian_12_x64_egs',
      instanceType: 'ecs.c6.large',
    }),
  );
  instanceId = body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
  await cloud.cloud.reconciler.idle();
});
afterAll(() => cloud.stop());

async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    const { code, statusCode } = error as { code: string; statusCode: number };
    return `${statusCode} ${code}`;
  }
}

function create(request: Partial<Ecs.CreateCommandRequest> = {}) {
  return cloud.ecs.createCommand(
    new Ecs.CreateCommandRequest({
      regionId: cloud.regionId,
      name: 'greet',
      type: 'RunShellScript',
      commandContent: Buffer.from('echo hello {{name}}').toString('base64'),
      ...request,
    }),
  );
}

async function createAndGetId(request: Partial<Ecs.CreateCommandRequest> = {}): Promise<string> {
  return (await create(request)).body?.commandId ?? '';
}

function invoke(commandId: string, request: Partial<Ecs.InvokeCommandRequest> = {}) {
  return cloud.ecs.invokeCommand(
    new Ecs.InvokeCommandRequest({
      regionId: cloud.regionId,
      commandId,
      instanceId: [instanceId],
      ...request,
    }),
  );
}

async function list(request: Partial<Ecs.DescribeCommandsRequest> = {}) {
  const { body } = await cloud.ecs.describeCommands(
    new Ecs.DescribeCommandsRequest({ regionId: cloud.regionId, ...request }),
  );
  return body?.commands?.command ?? [];
}

function remove(commandId: string) {
  return cloud.ecs.deleteCommand(new Ecs.DeleteCommandRequest({ regionId: cloud.regionId, commandId }));
}

describe('a stored command', () => {
  it('is created, described, run with parameters, changed and deleted', async () => {
    const commandId = await createAndGetId({
      description: 'greets',
      enableParameter: true,
      timeout: 100,
      workingDir: '/tmp',
      tag: [new Ecs.CreateCommandRequestTag({ key: 'a', value: 'b' })],
    });
    expect((await list({ commandId, contentEncoding: 'PlainText' }))[0]).toMatchObject({
      commandId,
      name: 'greet',
      description: 'greets',
      type: 'RunShellScript',
      commandContent: 'echo hello {{name}}',
      timeout: 100,
      workingDir: '/tmp',
      enableParameter: true,
      invokeTimes: 0,
      parameterNames: { parameterName: ['name'] },
      tags: { tag: [{ tagKey: 'a', tagValue: 'b' }] },
    });

    const { body } = await invoke(commandId, { parameters: { name: 'Anna' } });
    await cloud.cloud.reconciler.idle();
    const results = await cloud.ecs.describeInvocationResults(
      new Ecs.DescribeInvocationResultsRequest({
        regionId: cloud.regionId,
        commandId,
        contentEncoding: 'PlainText',
      }),
    );
    expect(results.body?.invocation?.invocationResults?.invocationResult).toMatchObject([
      { invokeId: body?.invokeId, output: 'hello Anna\n', invocationStatus: 'Success' },
    ]);

    await cloud.ecs.modifyCommand(
      new Ecs.ModifyCommandRequest({ regionId: cloud.regionId, commandId, name: 'wave', timeout: 30 }),
    );
    expect((await list({ commandId }))[0]).toMatchObject({ name: 'wave', timeout: 30, invokeTimes: 1 });

    await remove(commandId);
    expect(await list({ commandId })).toEqual([]);
  });

  it('is found by name pattern, description, type and tag', async () => {
    const commandId = await createAndGetId({
      name: 'find-me',
      description: 'here I am',
      tag: [new Ecs.CreateCommandRequestTag({ key: 'find' })],
    });
    const idsOf = async (request: Partial<Ecs.DescribeCommandsRequest>) =>
      (await list(request)).map((command) => command.commandId);
    expect(await idsOf({ name: 'find-*' })).toEqual([commandId]);
    expect(await idsOf({ description: 'here*' })).toEqual([commandId]);
    expect(await idsOf({ type: 'RunBatScript' })).toEqual([]);
    expect(await idsOf({ provider: 'AlibabaCloud' })).toEqual([]);
    expect(await idsOf({ tag: [new Ecs.DescribeCommandsRequestTag({ key: 'find' })] })).toEqual([commandId]);
    await remove(commandId);
  });

  it('is not deleted while it runs', async () => {
    const commandId = await createAndGetId({
      commandContent: 'sleep 1000',
      contentEncoding: 'PlainText',
    });
    const { body } = await invoke(commandId);
    expect(await failureOf(remove(commandId))).toBe('403 InvalidStatus.CmdIdInUse');
    await cloud.ecs.stopInvocation(
      new Ecs.StopInvocationRequest({ regionId: cloud.regionId, invokeId: body?.invokeId ?? '' }),
    );
    await cloud.cloud.reconciler.idle();
    await remove(commandId);
  });

  it('of Windows can be stored, but not run here', async () => {
    const commandId = await createAndGetId({ type: 'RunBatScript' });
    expect(await failureOf(invoke(commandId))).toBe('400 InvalidInstance.NotMatch');
    await remove(commandId);
  });

  it('must exist to be run, changed or deleted', async () => {
    expect(await failureOf(invoke('c-no'))).toBe('404 InvalidCmdId.NotFound');
    expect(await failureOf(remove('c-no'))).toBe('404 InvalidCmdId.NotFound');
    const change = new Ecs.ModifyCommandRequest({ regionId: cloud.regionId, commandId: 'c-no', name: 'x' });
    expect(await failureOf(cloud.ecs.modifyCommand(change))).toBe('404 InvalidCmdId.NotFound');
  });

  it('counts against a quota', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 10; index += 1) ids.push(await createAndGetId());
    expect(await failureOf(create())).toBe('403 CmdCount.ExceedQuota');
    await Promise.all(ids.map((id) => remove(id)));
  });

  it.each<[string, Partial<Ecs.CreateCommandRequest>, string]>([
    ['content that is not Base64', { commandContent: 'a*b' }, '400 CmdContent.DecodeError'],
    ['an unknown type', { type: 'RunPerlScript' }, '404 InvalidCmdType.NotFound'],
    ['a long name', { name: 'n'.repeat(129) }, '403 CmdName.ExceedLimit'],
    ['content over 18 KB', { commandContent: 'eHh4'.repeat(4609) }, '403 CmdContent.ExceedLimit'],
    ['a launcher, not built yet', { launcher: 'python3' }, '400 InvalidParameter'],
    ['a short time-out', { timeout: 1 }, '400 InvalidParameter'],
  ])('cannot have %s', async (_what, request, failure) => {
    expect(await failureOf(create(request))).toBe(failure);
  });
});

describe('SendFile', () => {
  function sendFile(request: Partial<Ecs.SendFileRequest> = {}) {
    return cloud.ecs.sendFile(
      new Ecs.SendFileRequest({
        regionId: cloud.regionId,
        instanceId: [instanceId],
        name: 'note.txt',
        targetDir: '/root/notes',
        content: 'remember',
        ...request,
      }),
    );
  }
  async function sent(invokeId: string | undefined) {
    await cloud.cloud.reconciler.idle();
    const { body } = await cloud.ecs.describeSendFileResults(
      new Ecs.DescribeSendFileResultsRequest({ regionId: cloud.regionId, invokeId: invokeId ?? '' }),
    );
    return body?.invocations?.invocation?.[0];
  }

  it('puts a file into instances and tells how it went', async () => {
    const { body } = await sendFile({ fileMode: '600', description: 'a note' });
    expect(await sent(body?.invokeId)).toMatchObject({
      invokeId: expect.stringMatching(/^f-bp1/),
      name: 'note.txt',
      description: 'a note',
      targetDir: '/root/notes',
      content: 'remember',
      contentType: 'PlainText',
      fileOwner: 'root',
      fileGroup: 'root',
      fileMode: '600',
      overwrite: 'false',
      vmCount: 1,
      invocationStatus: 'Success',
      invokeInstances: { invokeInstance: [{ instanceId, invocationStatus: 'Success', errorCode: '' }] },
    });
    const read = await Promise.all(
      [cloud.compute.a, cloud.compute.b].map((driver) =>
        driver.readFile(instanceId, '/root/notes/note.txt').catch(() => undefined),
      ),
    );
    expect(read.filter(Boolean).map((content) => Buffer.from(content ?? []).toString())).toEqual([
      'remember',
    ]);
  });

  it('does not overwrite unless told to', async () => {
    await sendFile({ name: 'twice' });
    await cloud.cloud.reconciler.idle();
    const refused = await sendFile({ name: 'twice' });
    expect((await sent(refused.body?.invokeId))?.invokeInstances?.invokeInstance?.[0]).toMatchObject({
      invocationStatus: 'Failed',
      errorCode: 'FileAlreadyExists',
      errorInfo: 'File already exists',
    });
    const taken = await sendFile({ name: 'twice', overwrite: true });
    expect((await sent(taken.body?.invokeId))?.invocationStatus).toBe('Success');
  });

  it('needs the owner and group to exist', async () => {
    const owner = await sendFile({ fileOwner: 'nobody-here' });
    expect((await sent(owner.body?.invokeId))?.invokeInstances?.invokeInstance?.[0]?.errorCode).toBe(
      'AccountNotExists',
    );
    const group = await sendFile({ fileGroup: 'nobody-here' });
    expect((await sent(group.body?.invokeId))?.invokeInstances?.invokeInstance?.[0]?.errorCode).toBe(
      'UserGroupNotExists',
    );
  });

  it('is not listed among commands', async () => {
    const { body } = await sendFile({ name: 'apart' });
    await cloud.cloud.reconciler.idle();
    const { body: described } = await cloud.ecs.describeInvocations(
      new Ecs.DescribeInvocationsRequest({ regionId: cloud.regionId, invokeId: body?.invokeId ?? '' }),
    );
    expect(described?.totalCount).toBe(0);
  });

  it.each<[string, Partial<Ecs.SendFileRequest>, string]>([
    ['a path as name', { name: '../x' }, '400 InvalidParameter'],
    ['a long name', { name: 'n'.repeat(256) }, '403 FileName.ExceedLimit'],
    ['a long description', { description: 'd'.repeat(513) }, '403 FileDesc.ExceedLimit'],
    ['a relative directory', { targetDir: 'notes' }, '400 FileTargetDir.Invalid'],
    ['an unknown content type', { contentType: 'Hex' }, '400 FileContentType.Invalid'],
    ['content that is not Base64', { contentType: 'Base64', content: '*' }, '400 FileContent.DecodeError'],
    ['a large file', { content: 'x'.repeat(24_577) }, '403 FileSize.ExceedLimit'],
    ['a wrong mode', { fileMode: 'u+x' }, '400 FileMode.Invalid'],
    ['a long owner', { fileOwner: 'o'.repeat(65) }, '400 InvalidParameter.FileOwner'],
    ['a long group', { fileGroup: 'g'.repeat(65) }, '400 InvalidParameter.FileGroup'],
    ['an instance that is not there', { instanceId: ['i-no'] }, '404 InvalidInstance.NotFound'],
    [
      'more than fifty instances',
      { instanceId: Array.from({ length: 51 }, (_, index) => `i-${index}`) },
      '403 InstanceIds.ExceedLimit',
    ],
  ])('refuses %s', async (_what, request, failure) => {
    expect(await failureOf(sendFile(request))).toBe(failure);
  });
});
