import { startConfiguredCloud } from '@openegs/cloud/compose';
import { parseConfig } from '@openegs/cloud/config';
import { SignedClient } from '../lib/signedClient.js';

const region = { RegionId: 'cn-hangzhou' };

/** A vSwitch has at most 65,533 addresses: two of them hold 100,000 instances. */
async function createNetwork(
  client: SignedClient,
): Promise<{ readonly vSwitches: readonly string[]; readonly securityGroupId: string }> {
  const { VpcId } = (await client.call('CreateVpc', { ...region, CidrBlock: '10.0.0.0/8' })) as {
    VpcId: string;
  };
  const vSwitches: string[] = [];
  for (const [zone, CidrBlock] of [
    ['a', '10.1.0.0/16'],
    ['b', '10.2.0.0/16'],
  ] as const) {
    const created = (await client.call('CreateVSwitch', {
      ...region,
      VpcId,
      CidrBlock,
      ZoneId: `cn-hangzhou-${zone}`,
    })) as { VSwitchId: string };
    vSwitches.push(created.VSwitchId);
  }
  const group = (await client.call('CreateSecurityGroup', {
    ...region,
    VpcId,
    SecurityGroupType: 'enterprise',
  })) as { SecurityGroupId: string };
  return { vSwitches, securityGroupId: group.SecurityGroupId };
}

/** Most instances that one RunInstances makes. */
const batch = 100;

export interface Seeded {
  readonly ids: readonly string[];
  /** Parameters of RunInstances for one more instance beside them. */
  readonly launch: Readonly<Record<string, string>>;
}

/** Fills a data directory with running instances of the fake engine, through the API. */
export async function seedInstances(dataDirectory: string, config: unknown, count: number): Promise<Seeded> {
  const running = await startConfiguredCloud({
    dataDirectory,
    config: parseConfig(config),
    engine: 'fake',
    listen: { host: '127.0.0.1', port: 0 },
  });
  const { cloud } = running;
  const client = new SignedClient(cloud.endpoint, cloud.credentials, 4);
  const { vSwitches, securityGroupId } = await createNetwork(client);
  const launch = (vSwitchId: string) => ({
    ...region,
    ImageId: 'debian_12_x64_egs',
    InstanceType: 'ecs.c6.large',
    SecurityGroupId: securityGroupId,
    VSwitchId: vSwitchId,
  });
  const ids: string[] = [];
  for (let made = 0; made < count; made += batch) {
    const answer = (await client.call('RunInstances', {
      ...launch(vSwitches[(made / batch) % vSwitches.length] ?? ''),
      Amount: String(Math.min(batch, count - made)),
    })) as { InstanceIdSets: { InstanceIdSet: string[] } };
    ids.push(...answer.InstanceIdSets.InstanceIdSet);
  }
  await cloud.reconciler.idle();
  await client.close();
  await running.stop();
  return { ids, launch: launch(vSwitches[0] ?? '') };
}
