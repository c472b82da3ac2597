import type { Command } from 'commander';
import type { ApiClient } from '../api/apiClient.js';
import {
  getInstance,
  type InstanceView,
  listInstances,
  waitForStatus,
  waitUntilGone,
} from '../api/instances.js';
import { openApi } from '../cloudAccess.js';
import { type Context, createContext } from '../context.js';
import { formatFacts, formatTable } from '../output.js';
import { addInstanceExec } from './instanceExec.js';
import { addInstanceRun } from './instanceRun.js';
import { addInstanceSsh } from './instanceSsh.js';

export function addInstance(program: Command): void {
  const instance = program
    .command('instance')
    .summary('launch, list, use and release instances')
    .description('Instances: launch, list, use, release. A name does where an id is asked for.');
  addInstanceRun(instance);
  instance
    .command('ls')
    .description('List the instances, newest first.')
    .option('--name <pattern>', 'only those whose name matches; * stands for anything')
    .action(async ({ name }: { name?: string }, command: Command) => {
      const context = createContext(command);
      const api = await openApi(context);
      const instances = await listInstances(api, name === undefined ? {} : { InstanceName: name });
      context.output.result(instances, formatInstances(instances));
    });
  instance
    .command('show')
    .argument('<instance>')
    .description('Show one instance.')
    .action(async (idOrName: string, _options: object, command: Command) => {
      const context = createContext(command);
      const found = await getInstance(await openApi(context), idOrName);
      context.output.result(found, formatInstance(found));
    });
  addChange(instance, {
    name: 'start',
    description: 'Start stopped instances, and wait until they run.',
    doing: 'Start',
    change: async (api, ids) => {
      for (const id of ids) await api.call('StartInstance', { InstanceId: id });
      await waitForStatus(api, ids, 'Running');
    },
  });
  addChange(instance, {
    name: 'stop',
    description: 'Stop instances, and wait until they have stopped.',
    doing: 'Stop',
    force: 'switch off at once instead of asking the guest',
    change: async (api, ids, force) => {
      for (const id of ids) await api.call('StopInstance', { InstanceId: id, ForceStop: force });
      await waitForStatus(api, ids, 'Stopped');
    },
  });
  addChange(instance, {
    name: 'reboot',
    description: 'Restart instances, and wait until they run again.',
    doing: 'Reboot',
    force: 'switch off at once instead of asking the guest',
    change: async (api, ids, force) => {
      for (const id of ids) await api.call('RebootInstance', { InstanceId: id, ForceStop: force });
      await waitForStatus(api, ids, 'Running');
    },
  });
  addChange(instance, {
    name: 'rm',
    description: 'Release instances with their disks, and wait until they are gone.',
    doing: 'Release',
    force: 'also those that run',
    change: async (api, ids, force) => {
      for (const id of ids) await api.call('DeleteInstance', { InstanceId: id, Force: force });
      await waitUntilGone(api, ids);
    },
  });
  addInstanceExec(instance);
  addInstanceSsh(instance);
}

interface Change {
  readonly name: string;
  readonly description: string;
  readonly doing: string;
  /** Meaning of `--force`; absent: no such option. */
  readonly force?: string;
  readonly change: (api: ApiClient, ids: readonly string[], force: boolean) => Promise<void>;
}

/** A command that changes instances and waits for the change. */
function addChange(parent: Command, { name, description, doing, force, change }: Change): void {
  const command = parent.command(name).argument('<instance...>').description(description);
  if (force !== undefined) command.option('-f, --force', force);
  command.action(async (idsOrNames: string[], options: { force?: boolean }, self: Command) => {
    const context: Context = createContext(self);
    const api = await openApi(context);
    // All are looked up before the first is touched: a typing error changes nothing.
    const instances = await Promise.all(idsOrNames.map((each) => getInstance(api, each)));
    const ids = instances.map((each) => each.InstanceId);
    await context.progress.run(doing, () => change(api, ids, options.force === true));
    context.output.result(ids, ids.join('\n'));
  });
}

export function addressOf(instance: InstanceView): string {
  return instance.VpcAttributes.PrivateIpAddress.IpAddress[0] ?? '';
}

export function formatInstances(instances: readonly InstanceView[]): string {
  return formatTable(
    ['INSTANCE', 'NAME', 'STATUS', 'TYPE', 'ADDRESS', 'ZONE', 'CREATED'],
    instances.map((each) => [
      ...[each.InstanceId, each.InstanceName, each.Status, each.InstanceType],
      ...[addressOf(each), each.ZoneId, each.CreationTime],
    ]),
  );
}

function formatInstance(instance: InstanceView): string {
  return formatFacts([
    ['instance', instance.InstanceId],
    ['name', instance.InstanceName],
    ['status', instance.Status],
    ['type', `${instance.InstanceType} (${instance.Cpu} vCPU, ${instance.Memory} MiB)`],
    ['image', instance.ImageId],
    ['address', addressOf(instance)],
    ['host name', instance.HostName],
    ['zone', instance.ZoneId],
    ['key pair', instance.KeyPairName ?? ''],
    ['created', instance.CreationTime],
  ]);
}
