import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InvocationId } from '../domain/ids.js';
import { type Clients, connectClients } from '../testing/clients.js';
import { HostCloud } from '../testing/hostCloud.js';

let host: HostCloud;
let clients: Clients;
let instanceId: string;

beforeAll(async () => {
  host = await HostCloud.start();
  clients = connectClients(host.cloud);
  instanceId = await launch();
  await inGuest('useradd --create-home anna');
}, 300_000);
afterAll(() => host?.stop(), 120_000);

async function launch(): Promise<string> {
  const { body } = await clients.ecs.runInstances(
    new Ecs.RunInstancesRequest({
      regionId: host.regionId,
      imageId: host.image.name,
      instanceType: 'ecs.t6-c2m1.large',
    }),
  );
  await host.cloud.reconciler.idle();
  return body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
}

/** Runs something by the engine directly, to look behind the API. */
async function inGuest(script: string): Promise<string> {
  const output: Uint8Array[] = [];
  await host.compute.exec(instanceId, {
    command: ['/bin/sh', '-c', script],
    onOutput: (_stream, chunk) => output.push(chunk),
  });
  return Buffer.concat(output).toString();
}

async function send(request: Partial<Ecs.RunCommandRequest>): Promise<string> {
  const { body } = await clients.ecs.runCommand(
    new Ecs.RunCommandRequest({
      regionId: host.regionId,
      type: 'RunShellScript',
      instanceId: [instanceId],
      ...request,
    }),
  );
  return body?.invokeId ?? '';
}

async function resultOf(invokeId: string) {
  const { body } = await clients.ecs.describeInvocationResults(
    new Ecs.DescribeInvocationResultsRequest({
      regionId: host.regionId,
      invokeId,
      contentEncoding: 'PlainText',
    }),
  );
  return body?.invocation?.invocationResults?.invocationResult?.[0];
}

async function run(request: Partial<Ecs.RunCommandRequest>) {
  const invokeId = await send(request);
  await host.cloud.reconciler.idle();
  return resultOf(invokeId);
}

/** Waits until the guest has a process with this in its command line, or none. */
async function untilProcess(pattern: string, wanted: boolean): Promise<void> {
  const look = `pgrep -f '${pattern}' | grep -v "^$$\\$" | wc -l`;
  await expect.poll(async () => Number(await inGuest(look)) > 0, { timeout: 10_000 }).toBe(wanted);
}

const scripts = 'ls /var/lib/cloud-assistant';

describe('commands in a real instance', () => {
  it('run by the shell, in the home of root, and leave no file behind', async () => {
    expect(await run({ commandContent: 'id -un; pwd; echo $HOME; cat; echo err >&2' })).toMatchObject({
      invocationStatus: 'Success',
      exitCode: 0,
      output: 'root\n/root\n/root\nerr\n',
    });
    expect(await inGuest(scripts)).toBe('');
  });

  it('run by the interpreter of their first line', async () => {
    expect((await run({ commandContent: '#!/usr/bin/env -S perl -w\nprint 6 * 7' }))?.output).toBe('42');
    expect(await run({ commandContent: '#!/no/such/thing\n' })).toMatchObject({
      invocationStatus: 'Failed',
      exitCode: 127,
      errorCode: 'ExitCodeNonzero',
    });
  });

  it('run as another user in that user’s home', async () => {
    const commandContent = 'id -un; pwd; echo $HOME $USER; id -Gn';
    expect((await run({ commandContent, username: 'anna' }))?.output).toBe(
      'anna\n/home/anna\n/home/anna anna\nanna\n',
    );
    expect((await run({ commandContent: '#!/bin/bash\nid -un', username: 'anna' }))?.output).toBe('anna\n');
    expect(await inGuest(scripts)).toBe('');
  });

  it('say which user or directory is missing', async () => {
    for (const username of ['nobody-here', '-x', '0']) {
      const code = (await run({ commandContent: 'id -un', username }))?.errorCode;
      expect([username, code]).toEqual([username, username === '0' ? '' : 'AccountNotExists']);
    }
    expect(await run({ commandContent: 'true', workingDir: '/no/such' })).toMatchObject({
      invocationStatus: 'Invalid',
      errorCode: 'DirectoryNotExists',
      output: '',
    });
    expect((await run({ commandContent: 'pwd', workingDir: '/tmp' }))?.output).toBe('/tmp\n');
  });

  it('tell their exit codes', async () => {
    expect(await run({ commandContent: 'exit 7' })).toMatchObject({
      exitCode: 7,
      invocationStatus: 'Failed',
    });
    expect(await run({ commandContent: 'kill -9 $$' })).toMatchObject({ exitCode: 137 });
  });

  it('keep the end of much output and count the rest', async () => {
    const result = await run({ commandContent: 'yes 0123456789abcde | head -n 200000; echo end' });
    expect(result?.dropped).toBe(16 * 200_000 + 4 - 24 * 1024);
    expect(result?.output).toHaveLength(24 * 1024);
    expect(result?.output?.endsWith('abcde\nend\n')).toBe(true);
  });

  it('may leave a service running, which lives on', async () => {
    const result = await run({ commandContent: 'nohup sleep 4242 >/dev/null 2>&1 &\necho started' });
    expect(result).toMatchObject({ invocationStatus: 'Success', output: 'started\n' });
    await untilProcess('^sleep 4242', true);
    await inGuest('pkill -f "^sleep 4242"');
  });

  it('die with all that they started when they are stopped', async () => {
    const invokeId = await send({ commandContent: 'echo begun; setsid sleep 4243 & sleep 4243' });
    await untilProcess('^sleep 4243', true);
    await clients.ecs.stopInvocation(new Ecs.StopInvocationRequest({ regionId: host.regionId, invokeId }));
    await host.cloud.reconciler.idle();
    expect(await resultOf(invokeId)).toMatchObject({ invocationStatus: 'Terminated', output: 'begun\n' });
    await untilProcess('^sleep 4243', false);
    expect(await inGuest(scripts)).toBe('');
  });

  it('die when their time is over', async () => {
    const invokeId = await send({ commandContent: 'echo begun; sleep 4244', timeout: 10 });
    await host.cloud.reconciler.idle();
    expect(await resultOf(invokeId)).toMatchObject({
      invocationStatus: 'Timeout',
      errorCode: 'ExecutionTimeout',
      output: 'begun\n',
    });
    await untilProcess('^sleep 4244', false);
  }, 30_000);

  it('put files down with owner and mode', async () => {
    const { body } = await clients.ecs.sendFile(
      new Ecs.SendFileRequest({
        regionId: host.regionId,
        instanceId: [instanceId],
        name: 'note.txt',
        targetDir: '/srv/a b/c',
        content: 'remember',
        fileOwner: 'anna',
        fileMode: '0640',
      }),
    );
    await host.cloud.reconciler.idle();
    const { body: sent } = await clients.ecs.describeSendFileResults(
      new Ecs.DescribeSendFileResultsRequest({ regionId: host.regionId, invokeId: body?.invokeId ?? '' }),
    );
    expect(sent?.invocations?.invocation?.[0]).toMatchObject({ invocationStatus: 'Success' });
    expect(await inGuest("stat -c '%U:%G %a' '/srv/a b/c/note.txt'; cat '/srv/a b/c/note.txt'")).toBe(
      'anna:root 640\nremember',
    );
  });

  it('run many at once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => send({ commandContent: `sleep 0.2; echo ${index}` })),
    );
    await host.cloud.reconciler.idle();
    const outputs = await Promise.all(ids.map(async (id) => (await resultOf(id))?.output));
    expect(outputs).toEqual(ids.map((_, index) => `${index}\n`));
  }, 30_000);

  it('are not run again, and leave nothing, when the control plane stops under them', async () => {
    const invokeId = await send({ commandContent: 'echo x >>/root/count; setsid sleep 4245 & sleep 4245' });
    await untilProcess('^sleep 4245', true);
    await host.stopControlPlane();
    await host.startControlPlane();
    clients = connectClients(host.cloud);
    await host.cloud.reconciler.idle();
    expect(await resultOf(invokeId)).toMatchObject({
      invocationStatus: 'Error',
      errorCode: 'ExecutionInterrupted',
    });
    await untilProcess('^sleep 4245', false);
    expect(await inGuest('cat /root/count')).toBe('x\n');
  }, 60_000);

  it('are killed by the next control plane when one died under them, since the engine lets them run on', async () => {
    const invokeId = (await run({ commandContent: 'true' }))?.invokeId as InvocationId;
    // What is left when a process dies in the middle: the row, and the programs with their mark.
    await host.cloud.parts.store.transaction({ name: 'test' }, ({ db }) =>
      db
        .updateTable('invocationRuns')
        .set({ status: 'Running' })
        .where('invocationId', '=', invokeId)
        .execute(),
    );
    await host.compute.exec(instanceId, {
      command: ['/bin/sh', '-c', 'setsid sleep 4247 >/dev/null 2>&1 & nohup sleep 4247 >/dev/null 2>&1 &'],
      environment: { EGS_INVOCATION: invokeId },
    });
    await untilProcess('^sleep 4247', true);
    await host.stopControlPlane();
    await host.startControlPlane();
    clients = connectClients(host.cloud);
    await host.cloud.reconciler.idle();
    expect(await resultOf(invokeId)).toMatchObject({
      invocationStatus: 'Error',
      errorCode: 'ExecutionInterrupted',
      errorInfo: expect.stringContaining('not run again'),
    });
    await untilProcess('^sleep 4247', false);
  }, 60_000);

  it('show their output while they run', async () => {
    const invokeId = await send({ commandContent: 'echo early; sleep 4248' });
    await expect.poll(async () => (await resultOf(invokeId))?.output, { timeout: 10_000 }).toBe('early\n');
    await clients.ecs.stopInvocation(new Ecs.StopInvocationRequest({ regionId: host.regionId, invokeId }));
    await host.cloud.reconciler.idle();
  }, 30_000);

  it('end with their instance', async () => {
    const id = await launch();
    const invokeId = await send({ commandContent: 'sleep 4246', instanceId: [id] });
    await expect.poll(async () => (await resultOf(invokeId))?.invocationStatus).toBe('Running');
    await clients.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId: id, force: true }));
    await host.cloud.reconciler.idle();
    expect(await resultOf(invokeId)).toMatchObject({
      invocationStatus: 'Error',
      errorCode: 'InstanceReleased',
    });
  }, 60_000);
});
