import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../api/apiClient.js';
import { type InstanceView, listInstances, waitForStatus } from '../api/instances.js';
import { openApi } from '../cloudAccess.js';
import { type Context, createContext } from '../context.js';
import { ensureKeyPair } from '../sshKey.js';
import { formatInstances } from './instance.js';

/** The smallest type that runs any distribution comfortably. */
export const defaultInstanceType = 'ecs.t6-c1m1.large';
export const defaultImage = 'debian_12_x64_egs';

export interface RunOptions {
  readonly name?: string;
  readonly type: string;
  readonly image: string;
  readonly count: number;
  readonly keyPair?: string;
  readonly userData?: string;
  readonly zone?: string;
  readonly vswitch?: string;
  readonly wait: boolean;
}

export function addInstanceRun(parent: Command): void {
  parent
    .command('run')
    .summary('launch instances')
    .description('Launches instances and waits until they run. "egs instance ssh" can log in to them.')
    .option('--name <name>', 'name of the instance')
    .option('--type <type>', 'instance type', defaultInstanceType)
    .option('--image <image>', 'image id', defaultImage)
    .option('--count <number>', 'how many', parseCount, 1)
    .option('--key-pair <name>', 'key pair for SSH (default: one of this command line, made when needed)')
    .option('--user-data <file>', 'script or cloud-config that runs at the first boot')
    .option('--zone <zone>', 'default: any')
    .option('--vswitch <id>', 'default: that of the default network')
    .option('--no-wait', 'return as soon as the cloud has taken the request')
    .action(async (options: RunOptions, command: Command) => {
      const context = createContext(command);
      const instances = await launch(context, await openApi(context), options);
      context.output.result(instances, formatInstances(instances));
    });
}

/** Launches and, unless told otherwise, waits until all run. */
export async function launch(context: Context, api: ApiClient, options: RunOptions): Promise<InstanceView[]> {
  const keyPair = options.keyPair ?? (await ensureKeyPair(api, context.dataDirectory));
  const { InstanceIdSets } = await api.call<{ InstanceIdSets: { InstanceIdSet: string[] } }>('RunInstances', {
    InstanceType: options.type,
    ImageId: options.image,
    Amount: options.count,
    InstanceName: options.name,
    KeyPairName: keyPair,
    ZoneId: options.zone,
    VSwitchId: options.vswitch,
    UserData: options.userData === undefined ? undefined : readFileSync(options.userData).toString('base64'),
  });
  const ids = InstanceIdSets.InstanceIdSet;
  if (!options.wait) return listInstances(api, { InstanceIds: ids });
  return context.progress.run('Launch', () => waitForStatus(api, ids, 'Running'));
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 100) {
    throw new InvalidArgumentError('a number from 1 to 100');
  }
  return count;
}
