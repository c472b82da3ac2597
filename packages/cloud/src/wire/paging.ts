import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { fail } from '../domain/errors.js';

/** Paging parameters as the Describe actions take them; either style, or both. */
export interface PagingInput {
  readonly pageNumber?: number | undefined;
  readonly pageSize?: number | undefined;
  readonly nextToken?: string | undefined;
  readonly maxResults?: number | undefined;
}

/** Which rows of the ordered whole are asked for. */
export type Page = NumberedPage | TokenPage;

export interface NumberedPage {
  readonly style: 'number';
  readonly pageNumber: number;
  readonly limit: number;
  readonly offset: number;
}

export interface TokenPage {
  readonly style: 'token';
  readonly limit: number;
  /** Rows after the one whose sequence number is `after`. */
  readonly after: number | undefined;
}

export interface PagingLimits {
  /** Sizes above it are refused (old style) or cut down (new style). */
  readonly maxPageSize: number;
  /** New style: smaller wishes count as this much. */
  readonly minResults?: number;
  /** When the request names none. "Only ten entries come back" surprises users, but clients depend on it. */
  readonly defaultSize?: number;
}

const usualDefaultSize = 10;

/** Reads either paging style. Where both are given the token style wins, as on the original. */
export function readPage(input: PagingInput, limits: PagingLimits): Page {
  return input.maxResults === undefined && input.nextToken === undefined
    ? readNumberedPage(input, limits)
    : readTokenPage(input, limits);
}

/** Reads the paging of an action that has the old style only. */
export function readNumberedPage(
  input: Pick<PagingInput, 'pageNumber' | 'pageSize'>,
  { maxPageSize, defaultSize = usualDefaultSize }: PagingLimits,
): NumberedPage {
  const pageNumber = input.pageNumber ?? 1;
  const limit = input.pageSize ?? defaultSize;
  if (pageNumber < 1) fail('InvalidParameter', { parameter: 'PageNumber', reason: 'it is less than 1.' });
  if (limit < 1 || limit > maxPageSize) {
    fail('InvalidParameter', { parameter: 'PageSize', reason: `it is not between 1 and ${maxPageSize}.` });
  }
  return { style: 'number', pageNumber, limit, offset: (pageNumber - 1) * limit };
}

/** Reads the paging of an action that has the new style only. */
export function readTokenPage(
  input: Pick<PagingInput, 'nextToken' | 'maxResults'>,
  { maxPageSize, minResults = 1, defaultSize = usualDefaultSize }: PagingLimits,
): TokenPage {
  const limit = Math.min(Math.max(input.maxResults ?? defaultSize, minResults), maxPageSize);
  return { style: 'token', limit, after: readToken(input.nextToken) };
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const after = Number(Buffer.from(token, 'base64url').toString('latin1'));
  if (!Number.isSafeInteger(after) || after < 0) {
    return fail('InvalidParameter', { parameter: 'NextToken', reason: 'it is not a token of this action.' });
  }
  return after;
}

/** Puts a page on a query over a table with a `sequence`: `query.$call(onPage(page))`. */
export function onPage<DB, TB extends keyof DB, Row>(
  page: Page,
  order: 'oldest first' | 'newest first' = 'oldest first',
): (query: SelectQueryBuilder<DB, TB, Row>) => SelectQueryBuilder<DB, TB, Row> {
  const isDescending = order === 'newest first';
  return (query) => {
    const ordered = query.orderBy(sql`sequence`, isDescending ? 'desc' : 'asc').limit(page.limit);
    if (page.style === 'number') return ordered.offset(page.offset);
    if (page.after === undefined) return ordered;
    return ordered.where(
      isDescending ? sql<SqlBool>`sequence < ${page.after}` : sql<SqlBool>`sequence > ${page.after}`,
    );
  };
}

/** A page of a list that is in memory; the position of a member counts as its sequence number. */
export function sliceOnPage<Item>(
  items: readonly Item[],
  page: Page,
): { readonly item: Item; readonly sequence: number }[] {
  const start = page.style === 'number' ? page.offset : (page.after ?? 0);
  return items.slice(start, start + page.limit).map((item, index) => ({ item, sequence: start + index + 1 }));
}

/** The paging fields of an answer. `rows` holds up to `page.limit` rows in order. */
export function pageAnswer(
  page: Page,
  rows: readonly { readonly sequence: number }[],
  totalCount: number,
): { pageNumber?: number; pageSize: number; totalCount: number; nextToken: string } {
  if (page.style === 'number') {
    return { pageNumber: page.pageNumber, pageSize: page.limit, totalCount, nextToken: '' };
  }
  const last = rows.at(-1);
  const nextToken =
    last === undefined || rows.length < page.limit
      ? ''
      : Buffer.from(String(last.sequence), 'latin1').toString('base64url');
  return { pageSize: page.limit, totalCount, nextToken };
}
