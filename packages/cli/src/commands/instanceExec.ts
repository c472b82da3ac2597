import { type Command, InvalidArgumentError } from 'commander';
import { getInstance } from '../api/instances.js';
import { runCommand, toScript } from '../api/runCommand.js';
import { openApi } from '../cloudAccess.js';
import { createContext } from '../context.js';

interface ExecOptions {
  readonly timeout: number;
  readonly user?: string;
  readonly cwd?: string;
}

export function addInstanceExec(parent: Command): void {
  parent
    .command('exec')
    .argument('<instance>')
    .argument('<command...>', 'program and arguments, or one shell script in quotes')
    .summary('run a command in an instance')
    .description(
      'Runs a command in an instance by Cloud Assistant (no SSH needed), prints what it wrote, and ends with ' +
        'its exit code. Put -- before a command with options: egs instance exec web -- ls -l /',
    )
    .option('--timeout <seconds>', 'the command is ended after this time', parseSeconds, 3600)
    .option('--user <name>', 'user in the instance (default: root)')
    .option('--cwd <directory>', 'working directory in the instance')
    .action(async (idOrName: string, words: string[], options: ExecOptions, command: Command) => {
      const context = createContext(command);
      const api = await openApi(context);
      const { InstanceId } = await getInstance(api, idOrName);
      const { exitCode, output, droppedBytes } = await runCommand(api, InstanceId, toScript(words), {
        timeoutSeconds: options.timeout,
        ...(options.user === undefined ? {} : { userName: options.user }),
        ...(options.cwd === undefined ? {} : { workingDirectory: options.cwd }),
      });
      if (droppedBytes > 0)
        context.output.note(`(${droppedBytes} bytes of output before this were not kept)`);
      if (context.output.isJson) {
        context.output.result({ instanceId: InstanceId, exitCode, output: output.toString('utf8') }, '');
      } else {
        process.stdout.write(output);
      }
      process.exitCode = exitCode;
    });
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 10 || seconds > 86_400) {
    throw new InvalidArgumentError('seconds, from 10 to 86400');
  }
  return seconds;
}
