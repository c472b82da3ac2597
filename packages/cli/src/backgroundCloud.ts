import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { CloudStatus } from '@openegs/cloud/operator';
import { OperatorClient } from './api/operatorClient.js';
import { CommandError } from './errors.js';
import { findServePid, removePidFile } from './serveProcess.js';

const run = promisify(execFile);
const mainFile = fileURLToPath(new URL('./main.js', import.meta.url));
const unitFile = '/etc/systemd/system/openegs.service';

/** The cloud that systemd looks after is the one of the machine, in this directory. */
const systemDataDirectory = '/var/lib/openegs';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 25_000;
const pollMs = 25;

/** A cloud that runs without a terminal: under systemd where it runs and the cloud is the machine's own, else by itself. */
export class BackgroundCloud {
  readonly logFile: string;

  constructor(private readonly dataDirectory: string) {
    this.logFile = join(dataDirectory, 'serve.log');
  }

  get isUnderSystemd(): boolean {
    return existsSync('/run/systemd/system') && this.dataDirectory === systemDataDirectory;
  }

  /** Where to read what it says. */
  get logSource(): string {
    return this.isUnderSystemd ? 'journalctl -u openegs' : this.logFile;
  }

  /** Starts it and returns when it is ready. */
  async start(serveArguments: readonly string[]): Promise<CloudStatus> {
    const since = `@${Math.floor(Date.now() / 1000)}`;
    const command = [process.execPath, mainFile, 'serve', '--data', this.dataDirectory, ...serveArguments];
    const hasEnded = this.isUnderSystemd ? await startUnit(command) : await this.spawn(command);
    const operator = new OperatorClient(this.dataDirectory);
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      const status = await operator.findStatus();
      if (status) return status;
      if ((await hasEnded()) || Date.now() > deadline) {
        const end = await this.readLogEnd(since);
        // systemd would try again and again.
        if (this.isUnderSystemd) await run('systemctl', ['disable', '--quiet', '--now', 'openegs.service']);
        throw new CommandError(`the cloud did not start, see ${this.logSource}\n${end}`.trim());
      }
      await delay(pollMs);
    }
  }

  /** Stops it, if it runs, and returns when it has ended. True when there was something to stop. */
  async stop(): Promise<boolean> {
    const status = await new OperatorClient(this.dataDirectory).findStatus();
    const pid = status?.pid ?? findServePid(this.dataDirectory);
    if (this.isUnderSystemd && existsSync(unitFile)) {
      await run('systemctl', ['disable', '--quiet', '--now', 'openegs.service']);
    }
    if (pid === undefined) return false;
    await endProcess(pid);
    removePidFile(this.dataDirectory);
    return true;
  }

  async removeUnit(): Promise<void> {
    if (!this.isUnderSystemd || !existsSync(unitFile)) return;
    await rm(unitFile);
    await run('systemctl', ['daemon-reload']);
  }

  /** Gives a function that tells whether the process has ended. */
  private async spawn(command: readonly string[]): Promise<() => boolean> {
    await mkdir(this.dataDirectory, { recursive: true, mode: 0o700 });
    const log = await open(this.logFile, 'w', 0o600);
    const [program = '', ...programArguments] = command;
    const child = spawn(program, programArguments, {
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    child.unref();
    let hasEnded = false;
    child.on('exit', () => {
      hasEnded = true;
    });
    child.on('error', () => {
      hasEnded = true;
    });
    return () => hasEnded;
  }

  /** The last lines of what it has said. `since`: a time that journalctl(1) understands. */
  private async readLogEnd(since: string): Promise<string> {
    const unitLog = ['-u', 'openegs.service', '--since', since, '-o', 'cat', '--no-pager'];
    const text = this.isUnderSystemd
      ? (await run('journalctl', unitLog)).stdout
      : readFileSync(this.logFile, 'utf8');
    return text.trimEnd().split('\n').slice(-5).join('\n');
  }
}

/** Gives a function that tells whether the process has ended, be it that systemd has started another. */
async function startUnit(command: readonly string[]): Promise<() => Promise<boolean>> {
  const unit = `[Unit]
Description=OpenEGS cloud
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${command.map(quoteForSystemd).join(' ')}
Restart=on-failure
KillMode=process
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
`;
  await writeFile(unitFile, unit);
  await run('systemctl', ['daemon-reload']);
  await run('systemctl', ['enable', '--quiet', 'openegs.service']);
  await run('systemctl', ['reset-failed', 'openegs.service']);
  await run('systemctl', ['restart', 'openegs.service']);
  return async () => {
    const properties = ['--property', 'NRestarts,ActiveState'];
    const { stdout } = await run('systemctl', ['show', ...properties, 'openegs.service']);
    return !stdout.includes('NRestarts=0\n') || /^ActiveState=(failed|inactive)$/m.test(stdout);
  };
}

/** systemd.service(5), quoting: `%` and `$` have a meaning of their own. */
function quoteForSystemd(argument: string): string {
  return `"${argument.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}

/** Asks a process to end, and kills it when it takes too long. Returns when it has ended. */
async function endProcess(pid: number): Promise<void> {
  sendSignal(pid, 'SIGTERM');
  const deadline = Date.now() + stopTimeoutMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) sendSignal(pid, 'SIGKILL');
    await delay(pollMs);
  }
}

/** A process that has ended meanwhile is what was wanted. */
function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** A zombie has ended: its parent may never collect it. */
function isAlive(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}
