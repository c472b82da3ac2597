import { startConfiguredCloud } from '@openegs/cloud/compose';
import { parseConfig } from '@openegs/cloud/config';
import { SignedClient } from '../lib/signedClient.js';

/** Most instances that one RunInstances makes. */
const batch = 100;

/** Fills a data directory with running instances of the fake engine, through the API. Gives their ids. */
export async function seedInstances(
  dataDirectory: string,
  config: unknown,
  count: number,
): Promise<string[]> {
  const running = await startConfiguredCloud({
    dataDirectory,
    config: parseConfig(config),
    engine: 'fake',
    listen: { host: '127.0.0.1', port: 0 },
  });
  const { cloud } = running;
  const client = new SignedClient(cloud.endpoint, cloud.credentials, 4);
  const ids: string[] = [];
  for (let made = 0; made < count; made += batch) {
    const answer = (await client.call('RunInstances', {
      RegionId: 'cn-hangzhou',
      ImageId: 'debian_12_x64_egs',
      InstanceType: 'ecs.c6.large',
      Amount: String(Math.min(batch, count - made)),
      InstanceName: 'seed',
    })) as { InstanceIdSets: { InstanceIdSet: string[] } };
    ids.push(...answer.InstanceIdSets.InstanceIdSet);
  }
  await cloud.reconciler.idle();
  await client.close();
  await running.stop();
  return ids;
}
