import { readFile } from 'node:fs/promises';

export interface Mount {
  readonly mountPoint: string;
  readonly type: string;
  /** Options of the file system itself, such as the controllers of a version 1 cgroup. */
  readonly options: readonly string[];
}

/** What is mounted in this process's namespace, in the order in which it was mounted (proc(5), mountinfo). */
export async function listMounts(): Promise<Mount[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [type = '', , options = ''] = after.split(' ');
      return { mountPoint: decodeOctal(before.split(' ')[4] ?? ''), type, options: options.split(',') };
    });
}

/** Blanks and backslashes stand in mountinfo as three octal digits. */
function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
