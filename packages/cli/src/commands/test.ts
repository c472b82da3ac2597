import { type Command, Option } from 'commander';
import { createContext } from '../context.js';
import { runTests, type SuiteName, suiteNames } from '../testRun.js';

export function addTest(program: Command): void {
  program
    .command('test')
    .argument('[suites...]', `which: ${suiteNames.join(', ')} (default: all but clients)`)
    .summary('run the tests of OpenEGS itself')
    .description(
      'Runs the tests of this checkout: types, lint with the direction of imports, unit and API tests, and as ' +
        'root the tests on real engines and networks. Says what it leaves out and why; with CI=true it fails ' +
        'instead. "egs test clients" runs real clients of the API, which are fetched from their registries.',
    )
    .addOption(new Option('--filter <text>', 'only test files whose path has this'))
    .action(async (asked: string[], options: { filter?: string }, command: Command) => {
      const { output, progress } = createContext(command);
      const suites = asked.length === 0 ? suiteNames.filter((name) => name !== 'clients') : asked;
      process.exitCode = await runTests(suites as SuiteName[], { output, progress, ...options });
    });
}
