import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AccountId, InstanceId, InvocationId, RegionId } from '../../../domain/ids.js';
import {
  type RunStatus,
  runStatuses,
  summarizeLegacyStatus,
  summarizeStatus,
} from '../../../domain/invocation.js';
import { Store } from '../../../store/store.js';
import { queryByStatus, queryBySummary } from './statusFilter.js';

const directory = mkdtempSync(join(tmpdir(), 'openegs-test-'));
const store = Store.open(directory);
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const invocations = new Map<string, readonly RunStatus[]>();

beforeAll(async () => {
  const samples = fc.sample(fc.array(fc.constantFrom(...runStatuses), { minLength: 1, maxLength: 4 }), 300);
  await store.transaction({ name: 'test' }, async ({ db }) => {
    for (const [index, statuses] of samples.entries()) {
      const id = `t-${index}` as InvocationId;
      invocations.set(id, statuses);
      await db
        .insertInto('invocations')
        .values({
          id,
          kind: 'command',
          accountId: 'account' as AccountId,
          regionId: 'region' as RegionId,
          commandId: '',
          name: '',
          type: '',
          content: '',
          timeoutSeconds: 60,
          creationTime: '',
        })
        .execute();
      await db
        .insertInto('invocationRuns')
        .values(
          statuses.map((status, position) => ({
            invocationId: id,
            instanceId: `i-${position}` as InstanceId,
            status,
            updateTime: '',
          })),
        )
        .execute();
    }
  });
});

function idsThat(isMeant: (statuses: readonly RunStatus[]) => boolean): string[] {
  return [...invocations].filter(([, statuses]) => isMeant(statuses)).map(([id]) => id);
}

it.each(['Running', 'Stopping', 'Finished', 'Failed', 'PartialFailed', 'Stopped'] as const)(
  'the query for %s finds the invocations that are summed up so on the older scale',
  async (filter) => {
    const rows = await queryByStatus(store.reader, filter).execute();
    const meant = idsThat((statuses) => summarizeLegacyStatus(statuses) === filter);
    expect(rows.map((row) => row.invocationId).sort()).toEqual(meant.sort());
  },
);

it.each(['Pending', 'Running', 'Stopping', 'Success', 'Failed', 'PartialFailed', 'Stopped'] as const)(
  'the query for %s finds the invocations that are summed up so',
  async (filter) => {
    const rows = await queryBySummary(store.reader, filter).execute();
    const meant = idsThat((statuses) => summarizeStatus(statuses) === filter);
    expect(rows.map((row) => row.invocationId).sort()).toEqual(meant.sort());
  },
);
