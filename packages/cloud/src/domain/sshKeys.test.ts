import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRsaKey, parsePublicKey } from './sshKeys.js';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'openegs-ssh-keys-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** ssh-keygen's own opinion of a public key: bits, fingerprint, type. */
function sshKeygenFingerprint(line: string): string {
  const file = join(directory, 'key.pub');
  writeFileSync(file, `${line}\n`);
  const text = execFileSync('ssh-keygen', ['-l', '-E', 'md5', '-f', file], { encoding: 'utf8' });
  return /MD5:(\S+)/.exec(text)?.[1] ?? text;
}

describe('public keys', () => {
  it.each(['rsa', 'ecdsa', 'ed25519'])(
    'of type %s are read, with the fingerprint that ssh-keygen tells',
    (type) => {
      const file = join(directory, type);
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'me@home now', '-f', file]);
      const line = readFileSync(`${file}.pub`, 'utf8');
      expect(parsePublicKey(line)).toEqual({ line: line.trim(), fingerprint: sshKeygenFingerprint(line) });
    },
  );

  const { line } = {
    line: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy',
  };
  it.each([
    ['nothing', ''],
    ['a body alone', 'AAAAC3NzaC1lZDI1NTE5AAAAIDEy'],
    ['an unknown type', line.replace('ssh-ed25519', 'ssh-ed25520')],
    ['a type other than that of the body', line.replace('ssh-ed25519', 'ssh-rsa')],
    ['options in front', `command="reboot" ${line}`],
    ['a second line', `${line}\n${line}`],
    ['a body that is cut', line.slice(0, -4)],
    [
      'a PEM file',
      generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    ],
  ])('are refused when they are %s', (_what, text) => {
    expect(parsePublicKey(line)).toBeDefined();
    expect(parsePublicKey(text)).toBeUndefined();
  });
});

describe('a fresh RSA key', () => {
  it('fits together: ssh-keygen derives the same public key from the private one', async () => {
    const key = await createRsaKey();
    const file = join(directory, 'fresh');
    writeFileSync(file, key.privateKey, { mode: 0o600 });
    const derived = execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' });
    expect(derived.trim()).toBe(key.line);
    expect(parsePublicKey(key.line)?.fingerprint).toBe(key.fingerprint);
    expect(key.privateKey).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
  });
});
