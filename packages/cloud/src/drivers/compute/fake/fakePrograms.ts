import { posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fakeAssistantPrograms } from './fakeAssistant.js';

/** What a program sees while it runs in a fake instance. */
export interface FakeProcess {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly userId: number;
  readonly hostName: string;
  readonly stdin: Uint8Array;
  readonly signal: AbortSignal;
  write(stream: 'stdout' | 'stderr', text: string | Uint8Array): void;
  readFile(path: string): Uint8Array | undefined;
  writeFile(path: string, content: Uint8Array, mode: number): void;
  /** Whether there is a program of this name. */
  hasProgram(name: string): boolean;
  /** Runs another program in this one's place in the world and gives its exit code. */
  run(command: readonly string[], changes?: Partial<FakeProcess>): Promise<number>;
}

/** A program that every fake instance has. Resolves to the exit code. */
export type FakeProgram = (process: FakeProcess) => Promise<number> | number;

/**
 * The programs of a fake instance: enough for the contract of `exec` and for running short commands,
 * nothing more. Programs are found by the last part of their path.
 */
export const fakePrograms: Readonly<Record<string, FakeProgram>> = {
  true: () => 0,
  false: () => 1,
  echo: (process) => {
    const plain = process.arguments[0] === '-n';
    process.write('stdout', process.arguments.slice(plain ? 1 : 0).join(' ') + (plain ? '' : '\n'));
    return 0;
  },
  printf: (process) => {
    process.write('stdout', (process.arguments[0] ?? '').replaceAll('\\n', '\n'));
    return 0;
  },
  sleep: async (process) => {
    await delay(Number.parseFloat(process.arguments[0] ?? '0') * 1000, undefined, { signal: process.signal });
    return 0;
  },
  pwd: (process) => {
    process.write('stdout', `${process.workingDirectory}\n`);
    return 0;
  },
  id: (process) => {
    process.write('stdout', `${process.userId}\n`);
    return 0;
  },
  hostname: (process) => {
    process.write('stdout', `${process.hostName}\n`);
    return 0;
  },
  printenv: (process) => {
    const value = process.environment[process.arguments[0] ?? ''];
    if (value !== undefined) process.write('stdout', `${value}\n`);
    return value === undefined ? 1 : 0;
  },
  cat: (process) => {
    if (process.arguments.length === 0) process.write('stdout', process.stdin);
    for (const path of process.arguments) {
      const content = process.readFile(posix.resolve(process.workingDirectory, path));
      if (content === undefined) {
        process.write('stderr', `cat: ${path}: No such file or directory\n`);
        return 1;
      }
      process.write('stdout', content);
    }
    return 0;
  },
  env: (process) => {
    const environment = { ...process.environment };
    let index = 0;
    for (; process.arguments[index]?.includes('='); index += 1) {
      const [name = '', ...value] = (process.arguments[index] ?? '').split('=');
      environment[name] = value.join('=');
    }
    return process.run(process.arguments.slice(index), { environment });
  },
  sh: runShell,
  bash: runShell,
  ...fakeAssistantPrograms,
};

/**
 * `sh -c TEXT`, `sh FILE` and a script on stdin, for text made of simple commands joined by newline,
 * `;`, `&&` and `||`, with quotes, `$NAME`, `$?`, `>&2`, `cd`, `exit` and comments. No pipes, no files
 * written, no control words: those answer 2, as a shell does for a syntax error. For scripts that need
 * more, `sh -c TEXT NAME …` runs the program NAME, where there is one, instead of the text.
 */
async function runShell(process: FakeProcess): Promise<number> {
  const operands = process.arguments.filter((argument) => !/^-[^c]*$/.test(argument));
  const [option, , name = ''] = process.arguments;
  if (option === '-c' && process.hasProgram(name)) return process.run(process.arguments.slice(2));
  let text: string;
  if (operands[0]?.startsWith('-') === true) text = operands[1] ?? '';
  else if (operands[0] === undefined) text = new TextDecoder().decode(process.stdin);
  else {
    const content = process.readFile(posix.resolve(process.workingDirectory, operands[0]));
    if (content === undefined) {
      process.write('stderr', `sh: 0: cannot open ${operands[0]}: No such file\n`);
      return 2;
    }
    text = new TextDecoder().decode(content);
  }
  let { workingDirectory } = process;
  let exitCode = 0;
  for (const { joint, words } of parseScript(text)) {
    process.signal.throwIfAborted();
    if ((joint === '&&' && exitCode !== 0) || (joint === '||' && exitCode === 0)) continue;
    const toStderr = words.at(-1)?.text === '>&2' || words.at(-1)?.text === '1>&2';
    const command = (toStderr ? words.slice(0, -1) : words).map((word) =>
      word.literal
        ? word.text
        : word.text.replace(/\$(\?|\w+)/g, (_match, name: string) =>
            name === '?' ? String(exitCode) : (process.environment[name] ?? ''),
          ),
    );
    if (command[0] === 'exit') return Number(command[1] ?? exitCode);
    if (command[0] === 'cd') {
      workingDirectory = posix.resolve(workingDirectory, command[1] ?? '/root');
      exitCode = 0;
    } else {
      exitCode = await process.run(command, {
        workingDirectory,
        ...(toStderr ? { write: (_stream, data) => process.write('stderr', data) } : {}),
      });
    }
  }
  return exitCode;
}

interface Word {
  text: string;
  /** Single-quoted: no `$` in it is looked at. */
  literal: boolean;
}
interface SimpleCommand {
  readonly joint: string;
  readonly words: Word[];
}

function parseScript(text: string): SimpleCommand[] {
  const commands: SimpleCommand[] = [];
  let current: SimpleCommand = { joint: ';', words: [] };
  const tokens = text.matchAll(/#[^\n]*|&&|\|\||[;\n]|(?:'[^']*'|"[^"]*"|>&2|[^\s;&|'"])+/g);
  for (const [token] of tokens) {
    if (token.startsWith('#')) continue;
    if (token === '&&' || token === '||' || token === ';' || token === '\n') {
      if (current.words.length > 0) commands.push(current);
      current = { joint: token, words: [] };
    } else {
      current.words.push({ text: token.replace(/['"]/g, ''), literal: token.includes("'") });
    }
  }
  if (current.words.length > 0) commands.push(current);
  return commands;
}
