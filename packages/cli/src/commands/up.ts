import { resolve } from 'node:path';
import type { CloudStatus } from '@openegs/cloud/operator';
import type { Command } from 'commander';
import { OperatorClient } from '../api/operatorClient.js';
import { BackgroundCloud } from '../backgroundCloud.js';
import { credentialsFileOf } from '../cloudAccess.js';
import { loadConfig } from '../configFile.js';
import { type Context, commandName, createContext, isRoot } from '../context.js';
import { defaultListen, parseListen } from '../listenAddress.js';
import { chooseEngine, supplyEngine } from '../localEngine.js';
import { formatFacts } from '../output.js';

export interface UpOptions {
  readonly listen: string;
  readonly engine?: string;
  readonly config?: string;
}

export function addUp(program: Command): void {
  program
    .command('up')
    .summary('set up this machine and start a cloud in the background')
    .description(
      'Makes a bare machine into a running cloud: packages, engine, storage pool, base image, cloud. ' +
        'Does only what is missing; on a running cloud it prints where that is. ' +
        'Without root the instances are not real: the fake engine plays them.',
    )
    .option('--listen <host:port>', 'where the API answers', defaultListen)
    .option('--engine <lxd|fake>', 'real instances, or instances in memory (default: lxd as root, else fake)')
    .option('--config <file>', 'configuration file, see "egs config check"')
    .action(async (options: UpOptions, command: Command) => {
      const context = createContext(command);
      const status = await bringUp(context, options);
      const { endpoint, region, engine } = status;
      const credentialsFile = credentialsFileOf(context.dataDirectory);
      context.output.result(
        { endpoint, region, engine, credentialsFile },
        formatFacts([
          ['endpoint', endpoint],
          ['region', region],
          ['engine', engine],
          ['key', credentialsFile],
          [
            'next',
            `${commandName()} instance run --name first && ${commandName()} instance exec first -- uname -a`,
          ],
        ]),
      );
    });
}

/** Sets up what is missing and starts the cloud, unless it runs. */
export async function bringUp(context: Context, options: UpOptions): Promise<CloudStatus> {
  const { dataDirectory, output, progress } = context;
  const running = await new OperatorClient(dataDirectory).findStatus();
  if (running) return running;
  parseListen(options.listen);
  const config = await loadConfig(dataDirectory, options.config);
  const engine = chooseEngine(options.engine, config);
  if (engine === 'fake' && options.engine === undefined && !isRoot()) {
    output.note(
      '*** Not root: instances are played by the FAKE engine. They run nothing and have no network.',
    );
    output.note('*** For real instances run "sudo ./egs up".');
  }
  await supplyEngine(context, engine, config);
  const serveArguments = [
    ...['--engine', engine, '--listen', options.listen],
    // The cloud runs in another directory than this command.
    ...(options.config === undefined ? [] : ['--config', resolve(options.config)]),
  ];
  return progress.run('Cloud', () => new BackgroundCloud(dataDirectory).start(serveArguments));
}
