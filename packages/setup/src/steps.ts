/** Progress of a set-up: each step is told when it starts and when it ends. */
export interface StepReport {
  readonly name: string;
  readonly state: 'started' | 'done' | 'failed';
  /** Present when it has ended. */
  readonly durationMs?: number;
}

export type OnStep = (report: StepReport) => void;

/** Runs one step and reports its start, its end and how long it took. */
export async function step<Result>(
  onStep: OnStep | undefined,
  name: string,
  act: () => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  onStep?.({ name, state: 'started' });
  try {
    const result = await act();
    onStep?.({ name, state: 'done', durationMs: Math.round(performance.now() - startedAt) });
    return result;
  } catch (error) {
    onStep?.({ name, state: 'failed', durationMs: Math.round(performance.now() - startedAt) });
    throw error;
  }
}
