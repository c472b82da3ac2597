/** Keeps `concurrency` calls going for a while; gives each one's time in ms and the calls per second. */
export async function closedLoop(
  call: () => Promise<unknown>,
  concurrency: number,
  durationMs: number,
): Promise<{ readonly samplesMs: number[]; readonly perSecond: number }> {
  const samplesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < endsAt) {
        const sentAt = performance.now();
        await call();
        samplesMs.push(performance.now() - sentAt);
      }
    }),
  );
  return { samplesMs, perSecond: (samplesMs.length * 1000) / (performance.now() - startedAt) };
}

/**
 * Sends calls at a fixed rate, whatever the answers take. Times count from when a call was due, so that a
 * server that stalls is charged for all that it delayed.
 */
export async function openLoop(
  call: () => Promise<unknown>,
  perSecond: number,
  durationMs: number,
): Promise<number[]> {
  const samplesMs: number[] = [];
  const count = Math.round((perSecond * durationMs) / 1000);
  const startedAt = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    const dueAt = startedAt + (index * 1000) / perSecond;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    pending.push(
      call().then(() => {
        samplesMs.push(performance.now() - dueAt);
      }),
    );
  }
  await Promise.all(pending);
  return samplesMs;
}
