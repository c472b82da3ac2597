import { type SqlBool, sql } from 'kysely';
import type { Fail } from '../../domain/errors.js';
import { toMinuteTime } from '../../store/times.js';

/** Conditions on a table's `creationTime`, which `Filter.N` with CreationStartTime and CreationEndTime sets. */
export function readTimeFilters(
  filters: readonly { readonly key?: string | undefined; readonly value?: string | undefined }[] | undefined,
  fail: Fail<'InvalidFilterKey.NotFound' | 'InvalidFilterValue'>,
) {
  return (filters ?? []).map(({ key, value = '' }) => {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(value)) return fail('InvalidFilterValue', { value });
    const limit = toMinuteTime(value);
    // Compared by minutes, as the values are given.
    switch (key) {
      case 'CreationStartTime':
        return sql<SqlBool>`substr("creationTime", 1, 16) >= ${limit.slice(0, 16)}`;
      case 'CreationEndTime':
        return sql<SqlBool>`substr("creationTime", 1, 16) <= ${limit.slice(0, 16)}`;
      default:
        return fail('InvalidFilterKey.NotFound', { key: key ?? '' });
    }
  });
}
