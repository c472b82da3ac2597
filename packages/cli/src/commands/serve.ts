import type { ConfiguredCloudOptions } from '@openegs/cloud';
import type { Command } from 'commander';
import { loadConfig } from '../configFile.js';
import { type Context, createContext } from '../context.js';
import { CommandError, UsageError } from '../errors.js';
import { defaultListen, parseListen } from '../listenAddress.js';
import { chooseEngine, supplyEngine } from '../localEngine.js';
import { removePidFile, writePidFile } from '../serveProcess.js';

interface ServeOptions {
  readonly listen: string;
  readonly engine?: string;
  readonly config?: string;
  readonly logLevel: string;
}

/** A stop that takes longer than this is ended: loops go on from the store at the next start. */
const stopTimeoutMs = 20_000;

export function addServe(program: Command): void {
  program
    .command('serve')
    .summary('run a cloud in the foreground')
    .description(
      'Runs a cloud in the foreground. Prints one line of JSON when it is ready; logs go to standard error. ' +
        'SIGTERM and SIGINT stop it; instances keep running.',
    )
    .option('--listen <host:port>', 'where the API answers; port 0 is any free one', defaultListen)
    .option('--engine <lxd|fake>', 'real instances, or instances in memory (default: lxd as root, else fake)')
    .option('--config <file>', 'configuration file, see "egs config check"')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', 'info')
    .action(async (options: ServeOptions, command: Command) => serve(createContext(command), options));
}

async function serve(context: Context, options: ServeOptions): Promise<void> {
  const { dataDirectory } = context;
  const config = await loadConfig(dataDirectory, options.config);
  const engine = chooseEngine(options.engine, config);
  const listen = parseListen(options.listen);
  const supply = await supplyEngine(context, engine, config);
  // Loaded here, since it takes longer than all the rest and only this command needs it.
  const { createLog, DataInUseError, startConfiguredCloud } = await import('@openegs/cloud');
  const running = await startConfiguredCloud({
    dataDirectory,
    config,
    engine,
    listen,
    log: createLog(options.logLevel),
    ...supply,
    ...(await readFault()),
  }).catch((error: unknown) => {
    if (error instanceof DataInUseError) throw new CommandError(error.message, { code: 'DataInUse' });
    throw error;
  });
  writePidFile(dataDirectory);
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  const { endpoint, credentialsFile } = running.cloud;
  const region = config.regions[0]?.id;
  process.stdout.write(`${JSON.stringify({ event: 'ready', endpoint, region, credentialsFile })}\n`);
  await stopped;
  setTimeout(() => process.exit(1), stopTimeoutMs).unref();
  await running.stop();
  removePidFile(dataDirectory);
}

/** For tests of crashes: `EGS_FAULT` names the boundary of a loop at which the process dies. */
async function readFault(): Promise<Pick<ConfiguredCloudOptions, 'faults'>> {
  const { EGS_FAULT: wanted } = process.env;
  if (!wanted) return {};
  const { faultPointNames, killAt } = await import('@openegs/cloud');
  const name = faultPointNames.find((each) => each === wanted);
  if (name === undefined) throw new UsageError(`EGS_FAULT: no fault point "${wanted}"`);
  return { faults: killAt(name) };
}
