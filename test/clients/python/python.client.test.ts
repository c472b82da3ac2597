import { fileURLToPath } from 'node:url';
import { DescribeVSwitchesRequest } from '@alicloud/vpc20160428';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from '../../../packages/cloud/src/testing/testCloud.js';
import { clientEnvironment, ensurePython, hasProgram, runClient } from '../tools.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

const currentPackages = ['alibabacloud-ecs20140526==7.0.3', 'alibabacloud-vpc20160428==7.2.2'];
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

describe.runIf(await hasProgram('python3'))('clients in Python', () => {
  it('launch, describe and release an instance by the current SDK', async () => {
    const python = await ensurePython('current', currentPackages);
    expect(await runClient(python, [script('current_sdk.py')], clientEnvironment(cloud))).toEqual({
      name: 'python',
      status: 'Running',
      tags: [['from', 'python']],
      refused: expect.stringMatching(/^IncorrectInstanceStatus/),
      left: 0,
    });
  }, 300_000);

  it('give an instance a VPC, rules and a public address by the current SDKs', async () => {
    const python = await ensurePython('current', currentPackages);
    expect(await runClient(python, [script('current_network.py')], clientEnvironment(cloud))).toEqual({
      rules: [['22/22', '0.0.0.0/0']],
      network: [true, true],
      groups: true,
      publicAddress: true,
      left: 0,
    });
  }, 300_000);

  it('read answers and errors by the older core SDK, by GET and by POST', async () => {
    const python = await ensurePython('core', ['aliyun-python-sdk-core==2.16.0']);
    expect(await runClient(python, [script('core_sdk.py')], clientEnvironment(cloud))).toEqual({
      byPost: ['cn-hangzhou'],
      byGet: ['cn-hangzhou'],
      refused: [404, 'InvalidInstanceId.NotFound', true],
    });
  }, 300_000);

  it('take a node through its life by Libcloud, which reads XML', async () => {
    const python = await ensurePython('libcloud', ['apache-libcloud==3.8.0']);
    const { body } = await cloud.vpc.describeVSwitches(
      new DescribeVSwitchesRequest({ regionId: cloud.regionId }),
    );
    const vSwitch = body?.vSwitches?.vSwitch?.[0]?.vSwitchId ?? '';
    const environment = { ...clientEnvironment(cloud), EGS_VSWITCH: vSwitch };
    expect(await runClient(python, [script('libcloud_driver.py')], environment)).toMatchObject({
      locations: ['cn-hangzhou'],
      zones: ['cn-hangzhou-a', 'cn-hangzhou-b'],
      rules: [['TCP', '8080/8081', 'Accept']],
      states: ['running', 'running', 'stopped', 'running'],
      left: 0,
    });
  }, 300_000);
});
