import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How long a token may last, in seconds (guide "Instance metadata"). */
export const maxTokenLifeSeconds = 21_600;

const expiryBytes = 6;
const nonceBytes = 10;
const macBytes = 32;

/**
 * Tokens of the metadata service. Nothing is kept of them: a token is its time of expiry, a random number
 * and a MAC over both and the instance, so it works for this instance alone and outlives a restart.
 */
export class MetadataTokens {
  constructor(
    private readonly key: Buffer,
    private readonly now: () => number,
  ) {}

  /** Reads the key in the directory, or makes it. */
  static open(directory: string, now: () => number = Date.now): MetadataTokens {
    const file = join(directory, 'token.key');
    if (!existsSync(file)) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, randomBytes(macBytes), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    }
    return new MetadataTokens(readFileSync(file), now);
  }

  issue(instanceId: string, lifeSeconds: number): string {
    const claims = Buffer.alloc(expiryBytes + nonceBytes);
    claims.writeUIntBE(this.now() + lifeSeconds * 1000, 0, expiryBytes);
    randomBytes(nonceBytes).copy(claims, expiryBytes);
    return Buffer.concat([claims, this.sign(instanceId, claims)]).toString('base64url');
  }

  isValid(instanceId: string, token: string): boolean {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== expiryBytes + nonceBytes + macBytes) return false;
    const claims = bytes.subarray(0, expiryBytes + nonceBytes);
    return (
      timingSafeEqual(bytes.subarray(claims.length), this.sign(instanceId, claims)) &&
      claims.readUIntBE(0, expiryBytes) > this.now()
    );
  }

  private sign(instanceId: string, claims: Buffer): Buffer {
    return createHmac('sha256', this.key).update(claims).update(instanceId).digest();
  }
}
