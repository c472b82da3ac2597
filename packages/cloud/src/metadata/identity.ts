import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { InstanceMetadata } from './source.js';

const runProgram = promisify(execFile);

/**
 * What an instance shows to prove who it is: JSON with the original's fields in the original's order, since
 * verifiers compare the text. With an audience, a word of the verifier's that makes the proof its own.
 */
export async function renderIdentityDocument(instance: InstanceMetadata, audience?: string): Promise<string> {
  const [primary] = await instance.interfaces();
  return JSON.stringify({
    'zone-id': instance.zoneId,
    'serial-number': instance.serialNumber,
    'instance-id': instance.id,
    'region-id': instance.regionId,
    'private-ipv4': primary?.primaryAddress,
    'owner-account-id': instance.accountId,
    mac: primary?.macAddress,
    'image-id': instance.imageId,
    'instance-type': instance.instanceType,
    ...(audience === undefined ? {} : { audience }),
  });
}

const signTimeoutMs = 10_000;
const maxKeptSignatures = 1000;
const validDays = '36500';

/**
 * Signs identity documents with a key that never leaves the directory. Verifiers need the certificate,
 * `instance-identity.crt` in there, once: `openssl smime -verify -inform DER -certfile … -noverify`.
 */
export class IdentitySigner {
  private readonly keyFile: string;
  private readonly certificateFile: string;
  /** One after the other: instances can make the host busy with this, but not with more than one core. */
  private last: Promise<unknown> = Promise.resolve();
  private readonly kept = new Map<string, Promise<string>>();

  constructor(private readonly directory: string) {
    this.keyFile = join(directory, 'instance-identity.key');
    this.certificateFile = join(directory, 'instance-identity.crt');
  }

  /** PKCS #7 signed data with the document inside, in Base64 of 64 characters a line. */
  sign(document: string): Promise<string> {
    const known = this.kept.get(document);
    if (known) return known;
    const signature = this.last.then(() => this.signNow(document));
    this.last = signature.catch(() => undefined);
    this.kept.set(document, signature);
    signature.catch(() => this.kept.delete(document));
    const [oldest] = this.kept.keys();
    if (this.kept.size > maxKeptSignatures && oldest !== undefined) this.kept.delete(oldest);
    return signature;
  }

  private async signNow(document: string): Promise<string> {
    await this.ensureCertificate();
    const running = runProgram(
      'openssl',
      [
        ...['smime', '-sign', '-binary', '-nodetach', '-nocerts', '-noattr', '-md', 'sha256'],
        ...['-signer', this.certificateFile, '-inkey', this.keyFile, '-outform', 'DER'],
      ],
      { encoding: 'buffer', timeout: signTimeoutMs },
    );
    running.child.stdin?.end(document);
    const { stdout } = await running;
    return stdout.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  }

  private async ensureCertificate(): Promise<void> {
    if (existsSync(this.certificateFile)) return;
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    // openssl makes its key files 0600.
    await runProgram('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-sha256', '-nodes', '-days', validDays],
      ...['-subj', '/CN=OpenEGS instance identity', '-keyout', this.keyFile],
      ...['-out', `${this.certificateFile}.new`],
    ]);
    await rename(`${this.certificateFile}.new`, this.certificateFile);
  }
}
