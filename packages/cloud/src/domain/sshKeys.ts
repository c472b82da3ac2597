import { createHash, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

/** A public key as one line of `authorized_keys` holds it: type, Base64 body, and the comment if any. */
export interface SshPublicKey {
  readonly line: string;
  /** MD5 of the body as pairs of hexadecimal digits with colons between (RFC 4716 §4). */
  readonly fingerprint: string;
}

/** Number of length-prefixed fields in the body of each type of key (RFC 4253 §6.6, RFC 5656, RFC 8709). */
const fieldsOfType = new Map([
  ['ssh-rsa', 3],
  ['ssh-dss', 5],
  ['ssh-ed25519', 2],
  ['ecdsa-sha2-nistp256', 3],
  ['ecdsa-sha2-nistp384', 3],
  ['ecdsa-sha2-nistp521', 3],
]);

/**
 * Reads a public key in OpenSSH's form. `undefined` for anything else: also for options in front of the
 * key and for a second line, which would be obeyed by the SSH server of the instance.
 */
export function parsePublicKey(text: string): SshPublicKey | undefined {
  const match = /^(\S+) +([A-Za-z0-9+/]+={0,2})(?: +([^\r\n]*))?$/.exec(text.trim());
  if (!match) return undefined;
  const [, type = '', base64 = '', comment = ''] = match;
  const body = Buffer.from(base64, 'base64');
  const fields = splitFields(body);
  if (fields?.length !== fieldsOfType.get(type) || fields?.[0]?.toString('latin1') !== type) return undefined;
  return { line: [type, base64, comment.trim()].filter(Boolean).join(' '), fingerprint: fingerprintOf(body) };
}

/** The length-prefixed fields that a body consists of; `undefined` when it does not end with the last. */
function splitFields(body: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let offset = 0;
  while (offset < body.length) {
    if (offset + 4 > body.length) return undefined;
    const end = offset + 4 + body.readUInt32BE(offset);
    if (end > body.length) return undefined;
    fields.push(body.subarray(offset + 4, end));
    offset = end;
  }
  return fields;
}

function fingerprintOf(body: Buffer): string {
  return createHash('md5')
    .update(body)
    .digest('hex')
    .replace(/..(?=.)/g, '$&:');
}

/** A fresh RSA key of 2048 bits, made on a worker thread; the private half in PKCS #1 PEM. */
export async function createRsaKey(): Promise<SshPublicKey & { readonly privateKey: string }> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const body = Buffer.concat([
    field(Buffer.from('ssh-rsa')),
    field(positive(Buffer.from(e, 'base64url'))),
    field(positive(Buffer.from(n, 'base64url'))),
  ]);
  return {
    line: `ssh-rsa ${body.toString('base64')}`,
    fingerprint: fingerprintOf(body),
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs1' }).toString(),
  };
}

function field(content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

/** A number whose first bit is set gets a zero in front, or it would be negative (RFC 4251 §5, mpint). */
function positive(number: Buffer): Buffer {
  return (number[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), number]) : number;
}
