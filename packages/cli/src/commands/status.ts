import type { Command } from 'commander';
import { OperatorClient } from '../api/operatorClient.js';
import { BackgroundCloud } from '../backgroundCloud.js';
import { credentialsFileOf } from '../cloudAccess.js';
import { createContext } from '../context.js';
import { exitCodes } from '../errors.js';
import { formatFacts } from '../output.js';

export function addStatus(program: Command): void {
  program
    .command('status')
    .summary('say whether the cloud runs, and where')
    .description('Says whether the cloud runs, where, and what is on it. Ends with 1 when it does not run.')
    .action(async (_options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const operator = new OperatorClient(dataDirectory);
      const status = await operator.findStatus();
      if (!status) {
        output.result({ running: false, dataDirectory }, `not running (${dataDirectory})`);
        process.exitCode = exitCodes.failed;
        return;
      }
      const hosts = await operator.listHosts();
      const unreachable = hosts.filter((host) => host.state === 'unreachable').length;
      const instances = Object.entries(status.instances).map(([state, count]) => `${count} ${state}`);
      const facts = { running: true, ...status, dataDirectory, hosts: hosts.length, unreachable };
      output.result(
        facts,
        formatFacts([
          ['running since', status.startedAt],
          ['process', String(status.pid)],
          ['endpoint', status.endpoint],
          ['region', status.region],
          ['engine', status.engine],
          ['hosts', `${hosts.length}${unreachable > 0 ? `, ${unreachable} unreachable` : ''}`],
          ['instances', instances.join(', ') || 'none'],
          ['key', credentialsFileOf(dataDirectory)],
          ['log', new BackgroundCloud(dataDirectory).logSource],
        ]),
      );
    });
}
