import { setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../errors.js';
import type { ApiClient } from './apiClient.js';

export interface CommandOutcome {
  readonly exitCode: number;
  /** What it wrote, as kept by the cloud: the end of it when it was a lot. */
  readonly output: Buffer;
  readonly droppedBytes: number;
}

interface ResultsAnswer {
  readonly Invocation: {
    readonly InvocationResults: {
      readonly InvocationResult: readonly {
        readonly InvokeRecordStatus: string;
        readonly InvocationStatus: string;
        readonly ExitCode?: number;
        readonly Output?: string;
        readonly Dropped?: number;
        readonly ErrorCode?: string;
        readonly ErrorInfo?: string;
      }[];
    };
  };
}

const firstPollMs = 30;
const longestPollMs = 500;

/** Words as one line of shell that means exactly these words. A single word is a script as it stands. */
export function toScript(words: readonly string[]): string {
  if (words.length === 1) return words[0] ?? '';
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

/** Runs a shell script in an instance by Cloud Assistant, and waits for its end. */
export async function runCommand(
  api: ApiClient,
  instanceId: string,
  script: string,
  options: {
    readonly timeoutSeconds: number;
    readonly userName?: string;
    readonly workingDirectory?: string;
  },
): Promise<CommandOutcome> {
  const { InvokeId } = await api.call<{ InvokeId: string }>('RunCommand', {
    Type: 'RunShellScript',
    ContentEncoding: 'Base64',
    CommandContent: Buffer.from(script).toString('base64'),
    InstanceId: [instanceId],
    Timeout: options.timeoutSeconds,
    Username: options.userName,
    WorkingDir: options.workingDirectory,
  });
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.3, longestPollMs)) {
    await delay(pollMs);
    const answer = await api.call<ResultsAnswer>('DescribeInvocationResults', { InvokeId });
    const [result] = answer.Invocation.InvocationResults.InvocationResult;
    if (result === undefined || ['Pending', 'Running', 'Stopping'].includes(result.InvokeRecordStatus))
      continue;
    const outcome = {
      output: Buffer.from(result.Output ?? '', 'base64'),
      droppedBytes: result.Dropped ?? 0,
    };
    if (result.ExitCode !== undefined && !result.ErrorCode) return { ...outcome, exitCode: result.ExitCode };
    if (result.ErrorCode === 'ExitCodeNonzero' && result.ExitCode !== undefined) {
      return { ...outcome, exitCode: result.ExitCode };
    }
    process.stdout.write(outcome.output);
    throw new CommandError(result.ErrorInfo || `the command ended as ${result.InvocationStatus}`, {
      code: result.ErrorCode || result.InvocationStatus,
    });
  }
}
