#!/usr/bin/env node
import { CommanderError } from 'commander';
import { CommandError, describeError, exitCodes } from './errors.js';
import { createProgram } from './program.js';

/** Runs the command line and gives its exit code; a command that succeeds may have set another. */
async function main(): Promise<number | string> {
  const program = createProgram();
  try {
    await program.parseAsync(process.argv);
    return process.exitCode ?? exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version end this way too; what was wrong has been printed already.
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    }
    const { message, code, requestId } = describeError(error);
    if (program.opts()['json'] === true) {
      process.stderr.write(`${JSON.stringify({ error: { code, message, requestId } })}\n`);
    } else {
      const request = requestId === undefined ? '' : ` (request ${requestId})`;
      process.stderr.write(`egs: ${code === undefined ? '' : `${code}: `}${message}${request}\n`);
      if (process.env['EGS_DEBUG'] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    }
    return error instanceof CommandError ? error.exitCode : exitCodes.failed;
  }
}

// Ends also when a failed start has left something open. Pipes and files are written synchronously on Linux.
process.exit(await main());
