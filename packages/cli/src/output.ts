/** How a command talks: results to standard output, everything else to standard error. */
export class Output {
  constructor(
    /** Results as JSON, for programs. */
    readonly isJson: boolean,
  ) {}

  /** The result of a command: `value` for programs, `text` for people. */
  result(value: unknown, text: string): void {
    if (this.isJson) process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
    else if (text !== '') process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  }

  /** Something to know that is no result. */
  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}

/** Columns padded with blanks; easy to read and to cut. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `name  value` lines, aligned. */
export function formatFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n');
}

export function formatSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(durationMs < 9_950 ? 1 : 0)} s`;
}
