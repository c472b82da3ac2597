import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../domain/errors.js';
import { pageAnswer, readNumberedPage, readPage, sliceOnPage } from './paging.js';

const limits = { maxPageSize: 100 };

describe('paging', () => {
  it('walks through any list without gap or overlap, in either style', () => {
    fc.assert(
      fc.property(fc.nat({ max: 300 }), fc.integer({ min: 1, max: 100 }), (length, size) => {
        const items = Array.from({ length }, (_, index) => index);
        const byToken: number[] = [];
        let nextToken: string | undefined;
        do {
          const page = readPage({ maxResults: size, ...(nextToken ? { nextToken } : {}) }, limits);
          const rows = sliceOnPage(items, page);
          byToken.push(...rows.map((row) => row.item));
          ({ nextToken } = pageAnswer(page, rows, length));
        } while (nextToken);
        expect(byToken).toEqual(items);

        const byNumber: number[] = [];
        for (let pageNumber = 1; ; pageNumber += 1) {
          const page = readPage({ pageNumber, pageSize: size }, limits);
          const rows = sliceOnPage(items, page);
          if (rows.length === 0) break;
          byNumber.push(...rows.map((row) => row.item));
        }
        expect(byNumber).toEqual(items);
      }),
    );
  });

  it('gives ten rows when nobody says how many, and lets the newer style win', () => {
    expect(readPage({}, limits)).toEqual({ style: 'number', pageNumber: 1, limit: 10, offset: 0 });
    expect(readPage({ pageSize: 50, maxResults: 20 }, limits)).toMatchObject({ style: 'token', limit: 20 });
  });

  it('cuts sizes of the newer style, and refuses those of the older', () => {
    expect(readPage({ maxResults: 1000 }, limits).limit).toBe(100);
    expect(readPage({ maxResults: 1 }, { ...limits, minResults: 10 }).limit).toBe(10);
    for (const input of [{ pageSize: 101 }, { pageSize: 0 }, { pageNumber: 0 }]) {
      expect(() => readNumberedPage(input, limits)).toThrow(ApiError);
    }
  });

  it('refuses tokens that it did not give', () => {
    fc.assert(
      fc.property(fc.string(), (nextToken) => {
        try {
          const page = readPage({ nextToken }, limits);
          expect(page.style === 'token' && Number.isSafeInteger(page.after ?? 0)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
      }),
    );
  });
});
