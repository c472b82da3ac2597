import { deleteSnapshot, isBeingCopied } from '../store/disks.js';
import type { Reader, Store } from '../store/store.js';

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

/** Deletes the snapshots whose retention is over. */
export async function releaseDueSnapshots(store: Store, now = new Date()): Promise<void> {
  const isDue = (db: Reader) =>
    db
      .selectFrom('snapshots')
      .selectAll()
      .where('releaseTime', '<=', now.toISOString())
      .where('status', 'in', ['accomplished', 'failed']);
  if ((await isDue(store.reader).execute()).length === 0) return;
  await store.transaction({ name: 'auto-release' }, async (tx) => {
    for (const snapshot of await isDue(tx.db).execute()) {
      // One that is being copied goes a little later.
      if (!(await isBeingCopied(tx.db, snapshot.id))) await deleteSnapshot(tx, snapshot, 'AutoRelease');
    }
  });
}
