import type { HostDescription } from '@openegs/cloud/operator';
import type { Command } from 'commander';
import { OperatorClient } from '../api/operatorClient.js';
import { createContext } from '../context.js';
import { formatFacts, formatTable } from '../output.js';

interface AddOptions {
  readonly zone?: string;
  readonly token?: string;
  readonly url?: string;
  readonly socket?: string;
  readonly pool?: string;
  readonly project?: string;
}

export function addHost(program: Command): void {
  const host = program
    .command('host')
    .summary('the LXD and Incus servers behind the cloud')
    .description('The LXD and Incus servers behind the cloud. For its operator.');
  host
    .command('ls')
    .description('List the hosts with what is free on them.')
    .action(async (_options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const hosts = await new OperatorClient(dataDirectory).listHosts();
      const head = ['HOST', 'ZONE', 'STATE', 'ENGINE', 'INSTANCES', 'FREE VCPUS', 'FREE MEMORY', 'FREE DISK'];
      output.result(
        hosts,
        formatTable(
          head,
          hosts.map((each) => [
            ...[each.id, each.zoneId, each.state, each.engine, String(each.instances)],
            ...[String(each.free.vcpus), formatGiB(each.free.memoryMiB), `${each.free.diskGiB} GiB`],
          ]),
        ),
      );
    });
  host
    .command('show')
    .argument('<host>')
    .description('Show one host.')
    .action(async (id: string, _options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const found = await new OperatorClient(dataDirectory).getHost(id);
      output.result(found, formatHost(found));
    });
  host
    .command('add')
    .argument('<name>', 'lower-case letters, digits and hyphens')
    .summary('add a further server')
    .description(
      'Adds an LXD or Incus server to the running cloud. On the server: "lxc config set core.https_address :8443" ' +
        'and "lxc config trust add --name openegs" (or "incus config trust add openegs"), which prints a token.',
    )
    .option('--token <token>', 'trust token that the server printed; used once')
    .option('--url <url>', 'where the server is, https://host:8443 (default: as the token says)')
    .option('--socket <path>', 'unix socket of an engine on this machine, instead of a token')
    .option('--zone <zone>', 'default: the first one')
    .option('--pool <name>', 'storage pool for the disks of instances', 'default')
    .option('--project <name>', 'project of the engine that holds the instances', 'openegs')
    .action(async (id: string, options: AddOptions, command: Command) => {
      const { dataDirectory, output, progress } = createContext(command);
      const { zone, token, url, socket, pool, project } = options;
      const added = await progress.run('Add host', () =>
        new OperatorClient(dataDirectory).addHost({ id, zone, token, url, socket, pool, project }),
      );
      output.result(added, formatHost(added));
    });
  host
    .command('drain')
    .argument('<host>')
    .summary('place no new instances on a host')
    .description('The host takes no new instances; those that it runs go on. --undo takes it in again.')
    .option('--undo', 'take new instances again')
    .action(async (id: string, { undo }: { undo?: boolean }, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const operator = new OperatorClient(dataDirectory);
      const changed = undo === true ? await operator.activateHost(id) : await operator.drainHost(id);
      output.result(changed, `${changed.id} is ${changed.state}`);
    });
  host
    .command('rm')
    .argument('<host>')
    .description('Forget a host that has no instances. Nothing is changed on the server.')
    .action(async (id: string, _options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      await new OperatorClient(dataDirectory).removeHost(id);
      output.result({ id }, `${id} removed`);
    });
}

function formatHost(host: HostDescription): string {
  const { free, offered } = host;
  return formatFacts([
    ['host', host.id],
    ['state', host.state],
    ['region', host.regionId],
    ['zone', host.zoneId],
    ['engine', host.engine],
    ['address', host.address],
    ['known from', host.origin],
    ['instances', String(host.instances)],
    ['vCPUs', `${free.vcpus} free of ${offered.vcpus}`],
    ['memory', `${formatGiB(free.memoryMiB)} free of ${formatGiB(offered.memoryMiB)}`],
    ['disk', `${free.diskGiB} GiB free of ${offered.diskGiB} GiB`],
  ]);
}

function formatGiB(mebibytes: number): string {
  return `${Math.round((mebibytes / 1024) * 10) / 10} GiB`;
}
