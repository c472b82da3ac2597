import { fail } from '../domain/errors.js';

/** Paging parameters as the Describe actions take them; either style, or both. */
export interface PagingInput {
  readonly pageNumber?: number | undefined;
  readonly pageSize?: number | undefined;
  readonly nextToken?: string | undefined;
  readonly maxResults?: number | undefined;
}

/** Which rows of the ordered whole are asked for. */
export type Page =
  | { readonly style: 'number'; readonly pageNumber: number; readonly limit: number; readonly offset: number }
  /** Rows after the one whose sequence number is `after`. */
  | { readonly style: 'token'; readonly limit: number; readonly after: number | undefined };

export interface PagingLimits {
  /** Sizes above it are refused (old style) or cut down (new style). */
  readonly maxPageSize: number;
  /** New style: smaller wishes count as this much. */
  readonly minResults?: number;
}

/** "Only ten entries come back" surprises users, but clients depend on it. */
const defaultPageSize = 10;

/** Reads either paging style. Where both are given the token style wins, as on the original. */
export function readPage(input: PagingInput, { maxPageSize, minResults = 1 }: PagingLimits): Page {
  if (input.maxResults !== undefined || input.nextToken !== undefined) {
    const limit = Math.min(Math.max(input.maxResults ?? defaultPageSize, minResults), maxPageSize);
    return { style: 'token', limit, after: readToken(input.nextToken) };
  }
  const pageNumber = input.pageNumber ?? 1;
  const limit = input.pageSize ?? defaultPageSize;
  if (pageNumber < 1) fail('InvalidParameter', { parameter: 'PageNumber', reason: 'it is less than 1.' });
  if (limit < 1 || limit > maxPageSize) {
    fail('InvalidParameter', { parameter: 'PageSize', reason: `it is not between 1 and ${maxPageSize}.` });
  }
  return { style: 'number', pageNumber, limit, offset: (pageNumber - 1) * limit };
}

function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const after = Number(Buffer.from(token, 'base64url').toString('latin1'));
  if (!Number.isSafeInteger(after) || after < 0) {
    return fail('InvalidParameter', { parameter: 'NextToken', reason: 'it is not a token of this action.' });
  }
  return after;
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
