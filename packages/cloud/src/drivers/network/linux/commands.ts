import { spawn } from 'node:child_process';
import { NetworkError } from '../driver.js';

/** Where a command works: in the host's own network namespace, or in the named one. */
export type NetworkNamespace = string | undefined;

/** The file that the kernel shows a named network namespace as. */
export function namespacePath(namespace: string): string {
  return `/run/netns/${namespace}`;
}

/**
 * Runs a program without a shell and answers with its standard output. Rejects with a `NetworkError` that
 * holds its standard error when it does not end with 0.
 */
export function runProgram(file: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
    child.on('error', (error) =>
      reject(new NetworkError('failed', `${file}: ${error.message}`, { cause: error })),
    );
    child.on('close', (code, signal) => {
      if (code === 0) {
        resolve(Buffer.concat(output).toString());
        return;
      }
      const detail = Buffer.concat(errors).toString().trim().slice(0, 2000);
      reject(
        new NetworkError('failed', `${file} ${args.join(' ')}: ${detail || `ended with ${code ?? signal}`}`),
      );
    });
    // A program that ends before it has read everything tells why by its status.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** As `runProgram`, with the program's network in the namespace and everything else as it is. */
export function runInNamespace(
  namespace: NetworkNamespace,
  file: string,
  args: readonly string[],
  input?: string,
): Promise<string> {
  // Not `ip netns exec`: that gives the program its own mounts too, and costs more.
  return namespace === undefined
    ? runProgram(file, args, input)
    : runProgram('nsenter', [`--net=${namespacePath(namespace)}`, file, ...args], input);
}

/** `ip`, `tc` or `bridge` with the namespace option that they share. */
export function runIproute(
  tool: 'ip' | 'tc' | 'bridge',
  namespace: NetworkNamespace,
  args: readonly string[],
  input?: string,
): Promise<string> {
  return runProgram(tool, [...(namespace === undefined ? [] : ['-n', namespace]), ...args], input);
}

/** Changes several things in one go; the first that fails ends it. */
export async function runBatch(
  tool: 'ip' | 'tc' | 'sysctl',
  namespace: NetworkNamespace,
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return;
  if (tool === 'sysctl') await runInNamespace(namespace, 'sysctl', ['-qw', ...lines]);
  else await runIproute(tool, namespace, ['-batch', '-'], `${lines.join('\n')}\n`);
}

/** Loads nft commands as one transaction: all of them or none. */
export async function runNft(namespace: NetworkNamespace, commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return;
  await runInNamespace(namespace, 'nft', ['-f', '-'], `${commands.join('\n')}\n`);
}
