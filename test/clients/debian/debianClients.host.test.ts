import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import { ensurePackages } from '@openegs/setup';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Clients, connectClients } from '../../../packages/cloud/src/testing/clients.js';
import { HostCloud } from '../../../packages/cloud/src/testing/hostCloud.js';
import { clientEnvironment, runClient } from '../tools.js';

vi.setConfig({ testTimeout: 240_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of clients from Debian need root');
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

describe.skipIf(!isRoot)(`clients from Debian${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let host: HostCloud;
  let clients: Clients;
  const scratch = mkdtempSync(join(tmpdir(), 'egs-clients-'));

  beforeAll(async () => {
    await ensurePackages(['packer', 'python3-libcloud']);
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
  }, 600_000);
  afterAll(async () => {
    rmSync(scratch, { recursive: true, force: true });
    await host?.stop();
  }, 120_000);

  /** Ids of all that the account has. */
  async function listResources(): Promise<string[]> {
    const { ecs, vpc } = clients;
    const { regionId } = host;
    const [instances, groups, keyPairs, vpcs, vSwitches, eips] = await Promise.all([
      ecs.describeInstances(new Ecs.DescribeInstancesRequest({ regionId })),
      ecs.describeSecurityGroups(new Ecs.DescribeSecurityGroupsRequest({ regionId })),
      ecs.describeKeyPairs(new Ecs.DescribeKeyPairsRequest({ regionId })),
      vpc.describeVpcs(new Vpc.DescribeVpcsRequest({ regionId })),
      vpc.describeVSwitches(new Vpc.DescribeVSwitchesRequest({ regionId })),
      vpc.describeEipAddresses(new Vpc.DescribeEipAddressesRequest({ regionId })),
    ]);
    return [
      ...(instances.body?.instances?.instance ?? []).map((each) => each.instanceId),
      ...(groups.body?.securityGroups?.securityGroup ?? []).map((each) => each.securityGroupId),
      ...(keyPairs.body?.keyPairs?.keyPair ?? []).map((each) => each.keyPairName),
      ...(vpcs.body?.vpcs?.vpc ?? []).map((each) => each.vpcId),
      ...(vSwitches.body?.vSwitches?.vSwitch ?? []).map((each) => each.vSwitchId),
      ...(eips.body?.eipAddresses?.eipAddress ?? []).map((each) => each.allocationId),
    ].filter((id) => id !== undefined);
  }

  /** Actions that were called so far, by the code of their answer. */
  async function listCalls(): Promise<Map<string, string[]>> {
    const metrics = await (await fetch(`${host.cloud.endpoint}/metrics`)).text();
    const calls = new Map<string, string[]>();
    for (const [, action = '', code = ''] of metrics.matchAll(
      /^openegs_api_requests_total\{product="\w+",action="(\w+)",code="([\w.]+)"\}/gm,
    )) {
      calls.set(code, [...(calls.get(code) ?? []), action]);
    }
    return calls;
  }

  /** Runs Packer to its end, which may be a failed build; answers with all it prints. */
  function build(): Promise<string> {
    const { accessKeyId, accessKeySecret } = host.cloud.credentials;
    const env = {
      PATH: process.env['PATH'],
      HOME: scratch,
      CHECKPOINT_DISABLE: '1',
      // It has no option for the endpoint, but speaks plain HTTP.
      HTTP_PROXY: host.cloud.endpoint,
      ALICLOUD_ACCESS_KEY: accessKeyId,
      ALICLOUD_SECRET_KEY: accessKeySecret,
    };
    return new Promise((resolve) => {
      execFile('packer', ['build', '-color=false', file('packer.json')], { env }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
    });
  }

  it('take a node through its life by Libcloud', async () => {
    const before = await listResources();
    const { body } = await clients.vpc.describeVSwitches(
      new Vpc.DescribeVSwitchesRequest({ regionId: host.regionId }),
    );
    const environment = {
      ...clientEnvironment(host),
      EGS_VSWITCH: body?.vSwitches?.vSwitch?.[0]?.vSwitchId ?? '',
    };
    // Debian's own Python: the package is not for another one that may come first in the path.
    const told = await runClient('/usr/bin/python3', [file('../python/libcloud_driver.py')], environment);
    expect(told).toMatchObject({
      group: ['renamed', 'changed'],
      rules: [['TCP', '8080/8081', 'Accept']],
      name: 'libcloud',
      byGroup: ['libcloud'],
      states: ['running', 'running', 'stopped', 'running'],
      left: 0,
    });
    expect(await listResources()).toEqual(before);
  });

  it('build by Packer in a VPC of their own, over SSH through an EIP, and leave nothing', async () => {
    const before = await listResources();
    const output = await build();
    expect(output).toContain('provisioned: root data');
    const calls = await listCalls();
    expect(calls.get('OK')).toEqual(
      expect.arrayContaining([
        ...[
          'CreateKeyPair',
          'CreateVpc',
          'DescribeVpcs',
          'DescribeZones',
          'CreateVSwitch',
          'DescribeVSwitches',
        ],
        ...[
          'CreateSecurityGroup',
          'AuthorizeSecurityGroup',
          'AuthorizeSecurityGroupEgress',
          'CreateInstance',
        ],
        ...['AllocateEipAddress', 'DescribeEipAddresses', 'AssociateEipAddress', 'AttachKeyPair'],
        ...['StartInstance', 'DescribeInstances', 'StopInstance', 'DetachKeyPair', 'UnassociateEipAddress'],
        ...['ReleaseEipAddress', 'DeleteInstance', 'DeleteSecurityGroup', 'DeleteVSwitch', 'DeleteVpc'],
        'DeleteKeyPairs',
      ]),
    );
    expect(calls.get('OK')).toEqual(expect.arrayContaining(['CreateImage', 'DescribeImages']));
    const imageId = /cn-hangzhou: (m-[a-z0-9]{20})/.exec(output)?.[1] ?? '';
    expect(imageId, output).not.toBe('');
    // Both clients ask again for what waits for something else to go.
    const waiting = ['DeleteInstance', 'DeleteSecurityGroup', 'DeleteVSwitch', 'DeleteVpc'];
    for (const [code, actions] of calls) {
      if (code !== 'OK') expect(waiting, code).toEqual(expect.arrayContaining(actions));
    }
    await vi.waitFor(async () => expect(await listResources()).toEqual(before), { timeout: 30_000 });
    expect(await bootFrom(imageId)).toBe('root data');
  });

  /** Starts an instance of the image Packer built, reads what the build left in it, and removes both. */
  async function bootFrom(imageId: string): Promise<string> {
    const { regionId } = host;
    const { body } = await clients.ecs.runInstances(
      new Ecs.RunInstancesRequest({ regionId, imageId, instanceType: 'ecs.t6-c1m1.large' }),
    );
    await host.cloud.reconciler.idle();
    const instanceId = body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
    const content = await host.compute.readFile(instanceId, '/root/provisioned');
    await clients.ecs.deleteInstance(new Ecs.DeleteInstanceRequest({ instanceId, force: true }));
    await host.cloud.reconciler.idle();
    await clients.ecs.deleteImage(new Ecs.DeleteImageRequest({ regionId, imageId }));
    await host.cloud.reconciler.idle();
    expect(await host.compute.hasImage(imageId)).toBe(false);
    return Buffer.from(content ?? [])
      .toString()
      .trim();
  }
});
