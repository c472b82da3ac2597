import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, UsageError } from '../errors.js';
import type { ApiClient } from './apiClient.js';

/** What the commands show of an instance, by the API's names. */
export interface InstanceView {
  readonly InstanceId: string;
  readonly InstanceName: string;
  readonly HostName: string;
  readonly Status: string;
  readonly InstanceType: string;
  readonly ImageId: string;
  readonly ZoneId: string;
  readonly Cpu: number;
  readonly Memory: number;
  readonly KeyPairName?: string;
  readonly CreationTime: string;
  readonly VpcAttributes: { readonly PrivateIpAddress: { readonly IpAddress: readonly string[] } };
}

interface InstancePage {
  readonly Instances: { readonly Instance: readonly InstanceView[] };
  readonly NextToken?: string;
}

/** Fast enough to feel immediate, slow enough to cost nothing. */
const pollMs = 50;

/** All instances that match, newest first. */
export async function listInstances(
  api: ApiClient,
  filter: { readonly InstanceIds?: readonly string[]; readonly InstanceName?: string } = {},
): Promise<InstanceView[]> {
  const found: InstanceView[] = [];
  let nextToken: string | undefined;
  do {
    const page: InstancePage = await api.call('DescribeInstances', {
      MaxResults: 100,
      NextToken: nextToken,
      InstanceName: filter.InstanceName,
      InstanceIds: filter.InstanceIds === undefined ? undefined : JSON.stringify(filter.InstanceIds),
    });
    found.push(...page.Instances.Instance);
    nextToken = page.NextToken || undefined;
  } while (nextToken !== undefined);
  return found;
}

/** The instance of an id or a name. A name that several have must be told by id. */
export async function getInstance(api: ApiClient, idOrName: string): Promise<InstanceView> {
  const byId = idOrName.startsWith('i-') ? await listInstances(api, { InstanceIds: [idOrName] }) : [];
  const found =
    byId.length > 0
      ? byId
      : (await listInstances(api, { InstanceName: idOrName })).filter(
          (each) => each.InstanceName === idOrName,
        );
  const [instance] = found;
  if (instance === undefined) {
    throw new CommandError(`there is no instance "${idOrName}"`, { code: 'InvalidInstanceId.NotFound' });
  }
  if (found.length > 1) {
    const ids = found.map((each) => each.InstanceId).join(', ');
    throw new UsageError(`${found.length} instances are named "${idOrName}": use one of the ids ${ids}`);
  }
  return instance;
}

/** Waits until all of them have the status. One that falls back to Stopped on the way up has failed. */
export async function waitForStatus(
  api: ApiClient,
  instanceIds: readonly string[],
  status: 'Running' | 'Stopped',
  timeoutMs = 120_000,
): Promise<InstanceView[]> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const instances = await listInstances(api, { InstanceIds: instanceIds });
    if (instances.length < instanceIds.length) throw new CommandError('an instance is gone');
    const others = instances.filter((instance) => instance.Status !== status);
    if (others.length === 0) return instances;
    if (Date.now() > deadline) {
      const left = others.map((each) => `${each.InstanceId} is ${each.Status}`).join(', ');
      throw new CommandError(`not ${status} within ${timeoutMs / 1000} s: ${left}`, { code: 'Timeout' });
    }
    await delay(pollMs);
  }
}

/** Waits until none of them is there any more. */
export async function waitUntilGone(
  api: ApiClient,
  instanceIds: readonly string[],
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while ((await listInstances(api, { InstanceIds: instanceIds })).length > 0) {
    if (Date.now() > deadline) throw new CommandError('the instances are still there', { code: 'Timeout' });
    await delay(pollMs);
  }
}
