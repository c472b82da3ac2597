import { type RawBuilder, type SqlBool, sql } from 'kysely';

/**
 * A condition that a column matches a pattern in which `*` stands for any text, also none; all else stands
 * for itself. Upper and lower case differ.
 */
export function matchesPattern(column: string, pattern: string): RawBuilder<SqlBool> {
  const glob = pattern.replace(/[?[]/g, '[$&]');
  return sql<SqlBool>`${sql.ref(column)} GLOB ${glob}`;
}
