import type { Command } from 'commander';
export function addTest(program: Command): void {
  program.command('test');
}
