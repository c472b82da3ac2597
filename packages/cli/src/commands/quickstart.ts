import type { Command } from 'commander';
import { runCommand } from '../api/runCommand.js';
import { openApi } from '../cloudAccess.js';
import { commandName, createContext } from '../context.js';
import { defaultListen } from '../listenAddress.js';
import { formatFacts } from '../output.js';
import { addressOf } from './instance.js';
import { defaultImage, defaultInstanceType, launch } from './instanceRun.js';
import { bringUp, type UpOptions } from './up.js';

/** Shows that there is another machine, on another network, with its own system. */
const firstScript = 'uname -sr; . /etc/os-release 2>/dev/null && echo "$PRETTY_NAME"; hostname';

export function addQuickstart(program: Command): void {
  program
    .command('quickstart')
    .summary('up, launch an instance, run a command in it')
    .description(
      'Sets up this machine, starts a cloud, launches an instance, runs a command in it, shows the result.',
    )
    .option('--listen <host:port>', 'where the API answers', defaultListen)
    .option('--engine <lxd|fake>', 'real instances, or instances in memory (default: lxd as root, else fake)')
    .option('--config <file>', 'configuration file, see "egs config check"')
    .action(async (options: UpOptions, command: Command) => {
      const context = createContext(command);
      const { output } = context;
      const cloud = await bringUp(context, options);
      output.note(`cloud: ${cloud.endpoint}, ${cloud.region}, engine ${cloud.engine}`);
      const api = await openApi(context);
      const launchedAt = performance.now();
      const [instance] = await launch(context, api, {
        ...{ name: 'quickstart', type: defaultInstanceType, image: defaultImage, count: 1, wait: true },
      });
      if (instance === undefined) return;
      const runningMs = Math.round(performance.now() - launchedAt);
      output.note(`instance: ${instance.InstanceId}, running after ${runningMs} ms`);
      const script = cloud.engine === 'fake' ? 'echo hello from the fake engine' : firstScript;
      const outcome = await runCommand(api, instance.InstanceId, script, { timeoutSeconds: 60 });
      const commandMs = Math.round(performance.now() - launchedAt);
      const text = outcome.output.toString('utf8').trimEnd();
      output.result(
        { endpoint: cloud.endpoint, instanceId: instance.InstanceId, runningMs, commandMs, output: text },
        formatFacts([
          ['instance', `${instance.InstanceId}  ${instance.InstanceType}  ${addressOf(instance)}`],
          ...text.split('\n').map((line, index) => [index === 0 ? 'it says' : '', line] as const),
          ['log in', `${commandName()} instance ssh ${instance.InstanceId}`],
          ['release', `${commandName()} instance rm --force ${instance.InstanceId}`],
        ]),
      );
    });
}
