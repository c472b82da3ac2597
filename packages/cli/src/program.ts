import { Command } from 'commander';
import { addServe } from './commands/serve.js';

/** The whole command line. */
export function createProgram(): Command {
  const program = new Command('egs')
    .description('An elastic GPU cloud on your own machines, with the Alibaba Cloud ECS API.')
    .option(
      '--data <directory>',
      'where the cloud keeps its state (default: EGS_DATA, or /var/lib/openegs for root)',
    )
    .option('--json', 'results as JSON')
    .showHelpAfterError('(run with --help to see how it is used)')
    .exitOverride();
  addServe(program);
  return program;
}
