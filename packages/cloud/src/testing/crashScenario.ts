import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import { expect, vi } from 'vitest';
import type { Credentials } from '../store/accounts.js';
import { type Clients, connectClients } from './clients.js';
import { CrashDisks } from './crashDisks.js';
import { makeAndDeleteImage } from './crashImages.js';

/** The compiled child: Node runs no TypeScript. `tsc -b` comes before the tests. */
const childFile = fileURLToPath(new URL('../../dist/testing/crashChild.js', import.meta.url));

/** A cloud in a child process that may die under the test's hands. */
export class CrashingCloud {
  private child: ChildProcess | undefined;
  private clients: Clients | undefined;
  /** How often the process died by SIGKILL. */
  deaths = 0;

  constructor(private readonly optionsFile: string) {}

  async start(fault?: string): Promise<void> {
    const child = spawn(process.execPath, [childFile, this.optionsFile, ...(fault ? [fault] : [])], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child = child;
    child.once('exit', (_code, signal) => {
      if (signal === 'SIGKILL') this.deaths += 1;
      this.clients = undefined;
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const ready: { endpoint: string; credentials: Credentials } = JSON.parse(line);
      this.clients = connectClients(ready);
      return;
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    if (child.signalCode !== 'SIGKILL') throw new Error('the cloud could not start');
    // It died before it was ready: the boundary was passed while it picked up what was left undone.
    await this.start();
  }

  /** Calls the API as a patient client does: when the server is gone, again on its successor. */
  async call<Result>(request: (clients: Clients) => Promise<Result>): Promise<Result> {
    for (;;) {
      if (!this.clients) await this.start();
      const clients = this.clients;
      if (!clients) throw new Error('the cloud did not start');
      try {
        return await request(clients);
      } catch (error) {
        if (this.isAlive() && !isConnectionError(error)) throw error;
        if (this.isAlive() && this.child) await once(this.child, 'exit');
        this.clients = undefined;
      }
    }
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child || !this.isAlive()) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  private isAlive(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }
}

function isConnectionError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /ECONNRE|socket hang up|EPIPE|fetch failed/i.test(`${error.message} ${String(error)}`)
  );
}

/**
 * Takes two instances through their whole life on a cloud that dies somewhere on the way. Whatever was
 * acknowledged must come to be; a request that got no answer is sent again and must not act twice.
 */
export async function liveThroughCrash(cloud: CrashingCloud): Promise<void> {
  const regionId = 'cn-hangzhou';
  const clientToken = randomUUID();
  const run = () =>
    cloud.call(({ ecs }) =>
      ecs.runInstances(
        new Ecs.RunInstancesRequest({
          regionId,
          imageId: 'debian_12_x64_egs',
          instanceType: 'ecs.t6-c2m1.large',
          amount: 2,
          clientToken,
        }),
      ),
    );
  const ids = (await run()).body?.instanceIdSets?.instanceIdSet ?? [];
  expect(ids).toHaveLength(2);
  await waitForStatus(cloud, ids, 'Running');
  expect((await run()).body?.instanceIdSets?.instanceIdSet).toEqual(ids);

  await runCommand(cloud, ids);

  const [first = '', second = ''] = ids;
  await lendAddress(cloud, first);
  await lendInterface(cloud, first);
  await makeAndDeleteVpc(cloud);
  const disks = new CrashDisks(cloud, first);
  await disks.fill();
  await makeAndDeleteImage(cloud, second);
  await cloud.call(({ ecs }) =>
    ecs.modifyInstanceSpec(
      new Ecs.ModifyInstanceSpecRequest({
        instanceId: first,
        instanceType: 'ecs.t6-c1m1.large',
        modifyMode: 'Online',
      }),
    ),
  );
  await settle(cloud, ids, 'Stopped', ({ ecs }) =>
    ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId: first, forceStop: true })),
  );
  await disks.reset();
  await settle(cloud, ids, 'Running', ({ ecs }) =>
    ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId: first })),
  );
  await disks.checkAndRemove();
  await cloud
    .call(({ ecs }) =>
      ecs.deleteInstances(new Ecs.DeleteInstancesRequest({ regionId, instanceId: ids, force: true })),
    )
    .catch((error: { code?: string }) => {
      // The first try was carried out before its answer was lost.
      if (error.code !== 'InvalidInstanceId.NotFound') throw error;
    });
  expect(await listStatuses(cloud, ids)).toEqual([]);
}

/** Asks for a state change, again if the answer was lost, and waits for the first instance to get there. */
async function settle(
  cloud: CrashingCloud,
  [first = '']: readonly string[],
  status: string,
  request: (clients: Clients) => Promise<unknown>,
): Promise<void> {
  await cloud.call(request).catch((error: { code?: string }) => {
    if (error.code !== 'IncorrectInstanceStatus') throw error;
  });
  await waitForStatus(cloud, [first], status);
}

async function listStatuses(cloud: CrashingCloud, ids: readonly string[]): Promise<(string | undefined)[]> {
  const { body } = await cloud.call(({ ecs }) =>
    ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId: 'cn-hangzhou', instanceIds: JSON.stringify(ids) }),
    ),
  );
  return (body?.instances?.instance ?? []).map((instance) => instance.status);
}

async function waitForStatus(cloud: CrashingCloud, ids: readonly string[], status: string): Promise<void> {
  await vi.waitFor(async () => expect(await listStatuses(cloud, ids)).toEqual(ids.map(() => status)), {
    timeout: 60_000,
    interval: 20,
  });
}

/** A command is run at most once: it ends in success, or says that it was cut off. */
async function runCommand(cloud: CrashingCloud, instanceId: string[]): Promise<void> {
  const regionId = 'cn-hangzhou';
  const clientToken = randomUUID();
  const { body } = await cloud.call(({ ecs }) =>
    ecs.runCommand(
      new Ecs.RunCommandRequest({
        regionId,
        type: 'RunShellScript',
        commandContent: 'echo done',
        instanceId,
        clientToken,
      }),
    ),
  );
  await vi.waitFor(
    async () => {
      const results = await cloud.call(({ ecs }) =>
        ecs.describeInvocationResults(
          new Ecs.DescribeInvocationResultsRequest({ regionId, invokeId: body?.invokeId ?? '' }),
        ),
      );
      const statuses = results.body?.invocation?.invocationResults?.invocationResult?.map(
        (result) => result.invocationStatus,
      );
      expect(statuses).toHaveLength(2);
      for (const status of statuses ?? []) expect(['Success', 'Error']).toContain(status);
    },
    { timeout: 60_000, interval: 20 },
  );
}

/** Carries a request out, also when its first try was carried out before its answer was lost. */
async function carryOut(
  cloud: CrashingCloud,
  codeOfDone: string,
  request: (clients: Clients) => Promise<unknown>,
): Promise<void> {
  await cloud.call(request).catch((error: { code?: string }) => {
    if (error.code !== codeOfDone) throw error;
  });
}

/** An EIP that an instance has for a while. */
async function lendAddress(cloud: CrashingCloud, instanceId: string): Promise<void> {
  const regionId = 'cn-hangzhou';
  const clientToken = randomUUID();
  const { body } = await cloud.call(({ vpc }) =>
    vpc.allocateEipAddress(new Vpc.AllocateEipAddressRequest({ regionId, clientToken })),
  );
  const allocationId = body?.allocationId ?? '';
  const waitFor = (status: string) =>
    vi.waitFor(
      async () => {
        const listed = await cloud.call(({ vpc }) =>
          vpc.describeEipAddresses(new Vpc.DescribeEipAddressesRequest({ regionId, allocationId })),
        );
        expect(listed.body?.eipAddresses?.eipAddress?.map((eip) => eip.status)).toEqual([status]);
      },
      { timeout: 60_000, interval: 20 },
    );
  await carryOut(cloud, 'IncorrectEipStatus', ({ vpc }) =>
    vpc.associateEipAddress(new Vpc.AssociateEipAddressRequest({ regionId, allocationId, instanceId })),
  );
  await waitFor('InUse');
  await carryOut(cloud, 'IncorrectEipStatus', ({ vpc }) =>
    vpc.unassociateEipAddress(new Vpc.UnassociateEipAddressRequest({ regionId, allocationId })),
  );
  await waitFor('Available');
  await carryOut(cloud, 'InvalidAllocationId.NotFound', ({ vpc }) =>
    vpc.releaseEipAddress(new Vpc.ReleaseEipAddressRequest({ regionId, allocationId })),
  );
}

/** A second network interface that is plugged into the running instance for a while. */
async function lendInterface(cloud: CrashingCloud, instanceId: string): Promise<void> {
  const regionId = 'cn-hangzhou';
  const described = await cloud.call(({ ecs }) =>
    ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId, instanceIds: JSON.stringify([instanceId]) }),
    ),
  );
  const instance = described.body?.instances?.instance?.[0];
  const request = new Ecs.CreateNetworkInterfaceRequest({
    regionId,
    vSwitchId: instance?.vpcAttributes?.vSwitchId ?? '',
    securityGroupId: instance?.securityGroupIds?.securityGroupId?.[0] ?? '',
    clientToken: randomUUID(),
  });
  const { body } = await cloud.call(({ ecs }) => ecs.createNetworkInterface(request));
  const networkInterfaceId = body?.networkInterfaceId ?? '';
  const waitFor = (status: string) =>
    vi.waitFor(
      async () => {
        const found = await cloud.call(({ ecs }) =>
          ecs.describeNetworkInterfaceAttribute(
            new Ecs.DescribeNetworkInterfaceAttributeRequest({ regionId, networkInterfaceId }),
          ),
        );
        expect(found.body?.status).toBe(status);
      },
      { timeout: 60_000, interval: 20 },
    );
  const plug = { regionId, networkInterfaceId, instanceId };
  await waitFor('Available');
  await carryOut(cloud, 'InvalidOperation.InvalidEniState', ({ ecs }) =>
    ecs.attachNetworkInterface(new Ecs.AttachNetworkInterfaceRequest(plug)),
  );
  await waitFor('InUse');
  await carryOut(cloud, 'InvalidOperation.InvalidEniState', ({ ecs }) =>
    ecs.detachNetworkInterface(new Ecs.DetachNetworkInterfaceRequest(plug)),
  );
  await waitFor('Available');
  await carryOut(cloud, 'InvalidEniId.NotFound', ({ ecs }) =>
    ecs.deleteNetworkInterface(new Ecs.DeleteNetworkInterfaceRequest({ regionId, networkInterfaceId })),
  );
}

async function makeAndDeleteVpc(cloud: CrashingCloud): Promise<void> {
  const regionId = 'cn-hangzhou';
  const clientToken = randomUUID();
  const { body } = await cloud.call(({ vpc }) =>
    vpc.createVpc(new Vpc.CreateVpcRequest({ regionId, cidrBlock: '10.0.0.0/16', clientToken })),
  );
  await carryOut(cloud, 'Forbidden.VpcNotFound', ({ vpc }) =>
    vpc.deleteVpc(new Vpc.DeleteVpcRequest({ regionId, vpcId: body?.vpcId ?? '' })),
  );
}
