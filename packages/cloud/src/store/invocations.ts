import type { Store } from './store.js';

/** How long what was run can be looked up (DescribeInvocations: four weeks). */
const keptDays = 28;

/** Deletes what was run longer ago than it can be looked up. Runs last for a day at most. */
export async function deleteOldInvocations(store: Store): Promise<void> {
  const limit = new Date(Date.now() - keptDays * 86_400_000).toISOString();
  const old = await store.reader
    .selectFrom('invocations')
    .select('id')
    .where('creationTime', '<', limit)
    .limit(1)
    .executeTakeFirst();
  if (!old) return;
  await store.transaction({ name: 'clean-up' }, async ({ db }) => {
    const ids = db.selectFrom('invocations').select('id').where('creationTime', '<', limit);
    await db
      .deleteFrom('tags')
      .where('resourceType', '=', 'invocation')
      .where('resourceId', 'in', ids)
      .execute();
    await db.deleteFrom('invocations').where('creationTime', '<', limit).execute();
  });
}
