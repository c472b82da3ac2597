import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addCompletion } from './commands/completion.js';
import { addConfig } from './commands/config.js';
import { addConfigure } from './commands/configure.js';
import { addDoctor } from './commands/doctor.js';
import { addDown } from './commands/down.js';
import { addEnv } from './commands/env.js';
import { addGpu } from './commands/gpu.js';
import { addHost } from './commands/host.js';
import { addInstance } from './commands/instance.js';
import { addPlace } from './commands/place.js';
import { addQuickstart } from './commands/quickstart.js';
import { addServe } from './commands/serve.js';
import { addStatus } from './commands/status.js';
import { addTest } from './commands/test.js';
import { addUp } from './commands/up.js';

/** The whole command line. */
export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = new Command('egs')
    .description('An elastic GPU cloud on your own machines, with the Alibaba Cloud ECS API.')
    .version(version)
    .option(
      '--data <directory>',
      'where the cloud keeps its state (default: $EGS_DATA, or /var/lib/openegs for root)',
    )
    .option('--json', 'results as JSON')
    .showHelpAfterError('(run with --help to see how it is used)')
    .exitOverride();
  const adders = [
    ...[addQuickstart, addUp, addDown, addStatus, addDoctor],
    ...[addInstance, addHost, addGpu, addPlace, addEnv, addConfigure, addConfig],
    ...[addServe, addTest, addCompletion],
  ];
  for (const add of adders) add(program);
  return program;
}
