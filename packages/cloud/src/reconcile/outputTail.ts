/** Bytes of output that are kept: the end of it (DescribeInvocationResults, Output and Dropped). */
export const maxOutputBytes = 24 * 1024;

/** Keeps the end of what a program writes, in memory that does not grow with it. */
export class OutputTail {
  private readonly ring: Buffer;
  private total = 0;

  constructor(private readonly maxBytes = maxOutputBytes) {
    this.ring = Buffer.alloc(maxBytes);
  }

  /** Bytes written so far, kept or not. */
  get writtenBytes(): number {
    return this.total;
  }

  append(chunk: Uint8Array): void {
    const kept = chunk.subarray(Math.max(0, chunk.length - this.maxBytes));
    const position = (this.total + chunk.length - kept.length) % this.maxBytes;
    const untilEnd = this.maxBytes - position;
    this.ring.set(kept.subarray(0, untilEnd), position);
    this.ring.set(kept.subarray(untilEnd), 0);
    this.total += chunk.length;
  }

  /** Forgets all. */
  clear(): void {
    this.total = 0;
  }

  /** The end of the output, from the start of a character on, and how many bytes came before it. */
  read(): { readonly bytes: Buffer; readonly droppedBytes: number } {
    if (this.total <= this.maxBytes) {
      return { bytes: Buffer.from(this.ring.subarray(0, this.total)), droppedBytes: 0 };
    }
    const position = this.total % this.maxBytes;
    const bytes = Buffer.concat([this.ring.subarray(position), this.ring.subarray(0, position)]);
    // A cut through a UTF-8 character leaves up to three bytes of its rest.
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return { bytes: bytes.subarray(start), droppedBytes: this.total - this.maxBytes + start };
  }
}
