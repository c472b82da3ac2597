import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { BackgroundCloud } from '../backgroundCloud.js';
import { loadConfig } from '../configFile.js';
import { type Context, createContext } from '../context.js';
import { CommandError } from '../errors.js';
import { removeLocalEngine } from '../localEngine.js';

export function addDown(program: Command): void {
  program
    .command('down')
    .summary('stop the cloud')
    .description(
      'Stops the cloud. Instances keep running, and "egs up" takes them up again. With --purge everything ' +
        'that OpenEGS made goes: instances, networks, engine, keys, state. Packages stay installed, and the ' +
        'image that was built stays in /var/cache/openegs.',
    )
    .option('--purge', 'also remove instances, networks, engine and all state')
    .option('--config <file>', 'the configuration file that "egs up" was given')
    .action(async ({ purge, config }: { purge?: boolean; config?: string }, command: Command) => {
      const context = createContext(command);
      const { dataDirectory, output, progress } = context;
      const background = new BackgroundCloud(dataDirectory);
      const stopped = await progress.run('Stop', () => background.stop());
      if (purge === true) {
        await background.removeUnit();
        await removeEverything(context, config);
      }
      output.result(
        { stopped, purged: purge === true },
        purge === true ? 'removed' : stopped ? 'stopped; instances keep running' : 'no cloud was running',
      );
    });
}

async function removeEverything(context: Context, configFile: string | undefined): Promise<void> {
  const { dataDirectory } = context;
  if (!existsSync(dataDirectory)) return;
  // Whatever the option says, only a cloud's own directory is ever removed.
  const isOurs =
    existsSync(join(dataDirectory, 'openegs.sqlite')) || existsSync(join(dataDirectory, 'uses-engine'));
  if (!isOurs && readdirSync(dataDirectory).length > 0) {
    throw new CommandError(`${dataDirectory} is not the data directory of a cloud: nothing is removed`);
  }
  await removeLocalEngine(context, await loadConfig(dataDirectory, configFile));
  await rm(dataDirectory, { recursive: true, force: true });
}
