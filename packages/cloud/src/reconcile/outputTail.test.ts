import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputTail } from './outputTail.js';

describe('the kept output', () => {
  it('is the end of all that was written, and the rest is counted', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40, max: 0x7f }));
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 30 }), (written, maxBytes) => {
        const tail = new OutputTail(maxBytes);
        for (const chunk of written) tail.append(chunk);
        const all = Buffer.concat(written);
        const { bytes, droppedBytes } = tail.read();
        expect(bytes).toEqual(all.subarray(Math.max(0, all.length - maxBytes)));
        expect(bytes.length + droppedBytes).toBe(all.length);
      }),
    );
  });
  it('does not begin inside a character', () => {
    const tail = new OutputTail(4);
    tail.append(Buffer.from('ab€€'));
    expect(tail.read()).toEqual({ bytes: Buffer.from('€'), droppedBytes: 5 });
  });
});
