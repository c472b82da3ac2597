import { posix } from 'node:path';
import type { FakeProcess, FakeProgram } from './fakePrograms.js';

/** Directories of a fake instance; it has no others, since its files are just names. */
const directories = ['/', '/etc', '/home', '/mnt', '/opt', '/root', '/srv', '/tmp', '/usr', '/var'];

interface Account {
  readonly userId: number;
  readonly home: string;
}

/** Root is always there; others when the file /etc/passwd was written. */
function findAccount(process: FakeProcess, name: string): Account | undefined {
  if (name === 'root') return { userId: 0, home: '/root' };
  const entry = findEntry(process, '/etc/passwd', name);
  return entry && { userId: Number(entry[2]), home: entry[5] ?? '/' };
}

function findEntry(process: FakeProcess, path: string, name: string): string[] | undefined {
  const text = new TextDecoder().decode(process.readFile(path));
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .find((fields) => fields[0] === name);
}

/**
 * What stands in for the scripts of the cloud's command runner, which need more of a shell than a fake
 * instance has. Arguments and answers are those of the scripts.
 */
export const fakeAssistantPrograms: Readonly<Record<string, FakeProgram>> = {
  'cloud-assistant-run': async (process) => {
    const [token = '', , user = '', directory = ''] = process.arguments;
    const fail = (code: string): number => {
      process.write('stderr', `${token} ${code}\n`);
      return 1;
    };
    const account = findAccount(process, user);
    if (account === undefined) return fail('AccountNotExists');
    const workingDirectory = directory === '' ? account.home : posix.resolve('/root', directory);
    if (!directories.includes(workingDirectory) && workingDirectory !== account.home) {
      return fail('DirectoryNotExists');
    }
    const text = new TextDecoder().decode(process.stdin);
    const [, interpreter = ''] = /^#!\s*(.*)\n/.exec(text) ?? [];
    const command = interpreter === '' ? ['sh'] : interpreter.trim().split(/\s+/);
    return process.run(command, {
      workingDirectory,
      userId: account.userId,
      environment: { ...process.environment, HOME: account.home, USER: user, LOGNAME: user },
    });
  },
  'cloud-assistant-put': (process) => {
    const [token = '', directory = '', name = '', owner = '', group = '', mode = '', overwrite = ''] =
      process.arguments;
    const fail = (code: string): number => {
      process.write('stderr', `${token} ${code}\n`);
      return 1;
    };
    const path = posix.join(directory, name);
    if (findAccount(process, owner) === undefined) return fail('AccountNotExists');
    if (group !== 'root' && !findEntry(process, '/etc/group', group)) return fail('UserGroupNotExists');
    if (overwrite !== 'true' && process.readFile(path) !== undefined) return fail('FileAlreadyExists');
    process.writeFile(path, process.stdin, Number.parseInt(mode, 8));
    return 0;
  },
  // Programs of a fake instance end when they are aborted, so that nothing is ever left.
  'cloud-assistant-kill': () => 0,
};
