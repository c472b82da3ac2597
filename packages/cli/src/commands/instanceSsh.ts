import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { getInstance } from '../api/instances.js';
import { OperatorClient } from '../api/operatorClient.js';
import { openApi } from '../cloudAccess.js';
import { createContext } from '../context.js';
import { CommandError, UsageError } from '../errors.js';
import { sshKeyFile } from '../sshKey.js';

export function addInstanceSsh(parent: Command): void {
  parent
    .command('ssh')
    .argument('<instance>')
    .argument('[arguments...]', 'for ssh: options, or a command to run')
    .summary('log in to an instance')
    .description(
      'Logs in by SSH. Private addresses of a VPC are not reachable from the host, and may exist twice: the ' +
        'connection is made from inside the VPC, through the operator socket. Options for ssh go after --.',
    )
    .option('--user <name>', 'user in the instance', 'root')
    .option('--identity <file>', 'private key (default: the one of this command line)')
    .action(
      async (
        idOrName: string,
        sshArguments: string[],
        options: { user: string; identity?: string },
        command: Command,
      ) => {
        const context = createContext(command);
        const { dataDirectory } = context;
        const { InstanceId, Status } = await getInstance(await openApi(context), idOrName);
        if (Status !== 'Running') throw new CommandError(`${InstanceId} is ${Status}`);
        const identity = options.identity ?? sshKeyFile(dataDirectory);
        const forward = [process.execPath, fileURLToPath(new URL('../main.js', import.meta.url))];
        forward.push('--data', dataDirectory, 'instance', 'forward', InstanceId, '22');
        // An id is never given out twice, so a key that changed is an attack and not another instance.
        const sshOptions = [
          `ProxyCommand=${forward.map(quoteForShell).join(' ')}`,
          `HostKeyAlias=${InstanceId}`,
          'StrictHostKeyChecking=accept-new',
          `UserKnownHostsFile="${join(dataDirectory, 'ssh', 'known_hosts')}"`,
          'LogLevel=ERROR',
        ];
        process.exitCode = await runSsh([
          ...sshOptions.flatMap((option) => ['-o', option]),
          ...(existsSync(identity) ? ['-i', identity] : []),
          '-l',
          options.user,
          InstanceId,
          ...sshArguments,
        ]);
      },
    );
  parent
    .command('forward', { hidden: true })
    .argument('<instance>')
    .argument('<port>')
    .description('Join standard input and output with a TCP port of an instance.')
    .action(async (instanceId: string, port: string, _options: object, command: Command) => {
      const { dataDirectory } = createContext(command);
      if (!/^\d{1,5}$/.test(port)) throw new UsageError(`"${port}" is not a port`);
      const connection = await new OperatorClient(dataDirectory).connectInstance(instanceId, Number(port));
      const sending = pipeline(process.stdin, connection).catch(() => undefined);
      await pipeline(connection, process.stdout, { end: false });
      process.stdin.destroy();
      await sending;
    });
}

function quoteForShell(argument: string): string {
  // ssh itself reads % in a ProxyCommand.
  return `'${argument.replaceAll("'", "'\\''").replaceAll('%', '%%')}'`;
}

function runSsh(sshArguments: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', sshArguments, { stdio: 'inherit' });
    child.on('error', () => reject(new CommandError('there is no ssh here: apt-get install openssh-client')));
    child.on('exit', (code) => resolve(code ?? 255));
  });
}
