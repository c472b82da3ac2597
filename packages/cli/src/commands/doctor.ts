import type { Command } from 'commander';
import { createContext } from '../context.js';
import { CommandError } from '../errors.js';
import { formatTable } from '../output.js';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('say what this machine can and cannot do')
    .description(
      'Looks at the machine, changes nothing, and names the mend for what is missing. Ends with 1 when real ' +
        'instances are not possible here.',
    )
    .action(async (_options: object, command: Command) => {
      const { dataDirectory, output } = createContext(command);
      const { diagnose } = await import('@openegs/setup');
      const found = await diagnose(dataDirectory);
      const table = formatTable(
        ['', 'WHAT', 'FOUND'],
        found.map((each) => [each.status, each.name, each.detail]),
      );
      const mends = found.flatMap((each) => (each.status !== 'ok' && each.mend ? [`  ${each.mend}`] : []));
      output.result(found, mends.length === 0 ? table : `${table}\n\nTo mend:\n${mends.join('\n')}`);
      if (found.some((each) => each.status === 'fail')) {
        throw new CommandError('real instances are not possible on this machine; the fake engine is', {
          code: 'NotReady',
        });
      }
    });
}
