import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRoot } from './context.js';
import { exitCodes, UsageError } from './errors.js';
import { formatSeconds, type Output } from './output.js';
import type { Progress } from './progress.js';

export const suiteNames = ['types', 'lint', 'unit', 'process', 'host', 'clients'] as const;
export type SuiteName = (typeof suiteNames)[number];

interface TestRunOptions {
  readonly output: Output;
  readonly progress: Progress;
  readonly filter?: string;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What a vitest run writes as JSON, as far as it is read here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const vitestConfigs = {
  unit: 'vitest.config.ts',
  process: 'vitest.process.config.ts',
  host: 'vitest.host.config.ts',
  clients: 'vitest.clients.config.ts',
} as const;

/** Runs the suites one after the other, sums them up, and gives the exit code. */
export async function runTests(suites: readonly SuiteName[], options: TestRunOptions): Promise<number> {
  const unknown = suites.find((name) => !suiteNames.includes(name));
  if (unknown !== undefined) throw new UsageError(`there is no suite "${unknown}": ${suiteNames.join(', ')}`);
  const { output } = options;
  const isStrict = process.env['CI'] === 'true';
  const leftOut: string[] = [];
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of suites) {
    const obstacle = await findObstacle(suite, options);
    if (obstacle !== undefined) {
      leftOut.push(`${suite}: ${obstacle}`);
      if (isStrict) sum.failed += 1;
      continue;
    }
    output.note(`\n=== ${suite}`);
    const startedAt = performance.now();
    const counts = await runSuite(suite, options.filter);
    sum.passed += counts.passed;
    sum.failed += counts.failed;
    sum.skipped += counts.skipped;
    const verdict = counts.failed === 0 ? 'passed' : 'FAILED';
    output.note(`=== ${suite} ${verdict}, ${formatSeconds(performance.now() - startedAt)}`);
  }
  for (const line of leftOut) output.note(`${isStrict ? 'FAILED, not run' : 'left out'}: ${line}`);
  if (sum.skipped > 0) output.note(`${sum.skipped} skipped`);
  output.result({ ...sum, leftOut }, `${sum.passed} passed, ${sum.failed} failed`);
  return sum.failed === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Why a suite cannot run on this machine; readies the machine for it where that can be done. */
async function findObstacle(suite: SuiteName, { progress }: TestRunOptions): Promise<string | undefined> {
  if (suite === 'clients' && !existsSync(join(repository, vitestConfigs.clients))) {
    return 'there are no client tests in this checkout';
  }
  if (suite !== 'host') return undefined;
  if (!isRoot()) return 'real engines and networks need root';
  const { chooseFlavor, diagnose, prepareMachine } = await import('@openegs/setup');
  const prepared = await progress
    .run('Ready the machine', async () => prepareMachine(await chooseFlavor()))
    .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  if (prepared instanceof Error) return prepared.message;
  const failed = (await diagnose(tmpdir())).filter((each) => each.status === 'fail');
  return failed.length === 0 ? undefined : failed.map((each) => `${each.name}: ${each.detail}`).join('; ');
}

async function runSuite(suite: SuiteName, filter: string | undefined): Promise<Counts> {
  switch (suite) {
    case 'types':
      return toCounts(await runTool('typescript/bin/tsc', ['-p', 'tsconfig.check.json']));
    case 'lint':
      return toCounts(await runTool('@biomejs/biome/bin/biome', ['check', '.']));
    case 'unit':
    case 'process':
    case 'host':
    case 'clients':
      return runVitest(vitestConfigs[suite], filter);
  }
}

/** A check without tests of its own counts as one. */
function toCounts(exitCode: number): Counts {
  return exitCode === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 };
}

async function runVitest(config: string, filter: string | undefined): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), 'egs-test-report-'));
  const file = join(directory, 'report.json');
  try {
    const exitCode = await runTool('vitest/vitest.mjs', [
      ...['run', '--config', config, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
      ...(filter === undefined ? [] : [filter]),
    ]);
    if (!existsSync(file)) return toCounts(exitCode);
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
    // A file that cannot even be loaded has no failed tests, but the run failed.
    const failed = exitCode === 0 ? 0 : Math.max(1, report.numFailedTests);
    return { passed: report.numPassedTests, failed, skipped: report.numPendingTests };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runTool(file: string, toolArguments: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(repository, 'node_modules', file), ...toolArguments], {
      cwd: repository,
      // Results of the runners come first, the closing line after them.
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
