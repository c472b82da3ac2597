import type { Store } from '../store/store.js';

/** Releases the instances whose automatic release time has come, as DeleteInstance with Force would. */
export async function releaseDueInstances(store: Store): Promise<void> {
  const now = new Date().toISOString();
  const due = await store.reader
    .selectFrom('instances')
    .select('id')
    .where('autoReleaseTime', '<=', now)
    .where('status', 'in', ['Running', 'Stopped'])
    .execute();
  if (due.length === 0) return;
  await store.transaction({ name: 'auto-release' }, async (tx) => {
    for (const { id } of due) {
      const released = await tx.db
        .updateTable('instances')
        .set({ status: 'Deleted' })
        .where('id', '=', id)
        .where('status', 'in', ['Running', 'Stopped'])
        .executeTakeFirst();
      if (released.numUpdatedRows === 0n) continue;
      await tx.record({ resourceType: 'instance', resourceId: id, action: 'AutoRelease' });
      tx.wake({ kind: 'instance', id });
    }
  });
}
