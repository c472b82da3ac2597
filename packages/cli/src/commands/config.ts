import type { Command } from 'commander';
import { defaultConfigFile, readConfigFile } from '../configFile.js';
import { createContext } from '../context.js';

export function addConfig(program: Command): void {
  const config = program
    .command('config')
    .summary('check a configuration file')
    .description('The configuration file of a cloud.');
  config
    .command('check')
    .argument('[file]', 'default: egs.yaml in the data directory')
    .summary('check a configuration file')
    .description(
      'Checks a configuration file and names the place of every mistake. --json prints all values.',
    )
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const path = file ?? defaultConfigFile(dataDirectory);
      const checked = await readConfigFile(path);
      const zones = checked.regions.flatMap((region) => region.zones);
      const hosts = checked.hosts.reduce((sum, host) => sum + host.count, 0);
      output.result(
        checked,
        `${path}: fine. ${checked.regions.length} region(s), ${zones.length} zone(s), ` +
          (hosts === 0 ? 'no hosts named: the engine of this machine is used' : `${hosts} host(s)`),
      );
    });
}
