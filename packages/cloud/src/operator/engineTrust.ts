import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { z } from 'zod';
import { HostError } from './hostRegistry.js';

/** What `lxc config trust add` and `incus config trust add` print: Base64 of this. */
const tokenShape = z.object({
  client_name: z.string(),
  /** SHA-256 of the server's certificate: tells the right server from any other. */
  fingerprint: z.string(),
  addresses: z.array(z.string()),
  secret: z.string(),
});

/** What the configuration of an engine needs to reach it by mutual TLS. */
export interface TrustedServer {
  readonly url: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly serverCertificateFile: string;
}

interface TrustOptions {
  readonly dataDirectory: string;
  readonly hostId: string;
  readonly token: string;
  /** Where the server is, if not at an address that the token names. */
  readonly url: string | undefined;
}

const connectTimeoutMs = 5_000;

/**
 * Has a server trust this cloud's certificate, once, by its token. The server proves itself by the
 * fingerprint in the token; its certificate is kept, and no other is accepted from then on.
 */
export async function trustServer(options: TrustOptions): Promise<TrustedServer> {
  const token = parseToken(options.token);
  const client = await ensureClientCertificate(options.dataDirectory);
  const urls = options.url ? [options.url] : token.addresses.map((address) => `https://${address}`);
  let failure: unknown;
  for (const url of urls) {
    try {
      const serverCertificate = await fetchServerCertificate(url, token.fingerprint);
      await presentToken(url, options.token, client, serverCertificate);
      const directory = join(options.dataDirectory, 'trust');
      const serverCertificateFile = join(directory, `${options.hostId}.crt`);
      await writeFile(serverCertificateFile, serverCertificate, { mode: 0o600 });
      return { url, ...client, serverCertificateFile };
    } catch (error) {
      failure = error;
    }
  }
  if (failure instanceof HostError) throw failure;
  const reason = failure instanceof Error ? failure.message : 'the token names no address';
  throw new HostError('HostUnreachable', `${urls.join(', ')}: ${reason}`);
}

function parseToken(text: string): z.infer<typeof tokenShape> {
  try {
    return tokenShape.parse(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
  } catch {
    throw new HostError('HostInvalid', 'this is not a trust token of LXD or Incus');
  }
}

/** The cloud's own certificate, made once. The key is its owner's alone. */
async function ensureClientCertificate(
  dataDirectory: string,
): Promise<{ certificateFile: string; keyFile: string }> {
  const directory = join(dataDirectory, 'trust');
  const certificateFile = join(directory, 'client.crt');
  const keyFile = join(directory, 'client.key');
  if (existsSync(certificateFile)) return { certificateFile, keyFile };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const validDays = '3650';
  // openssl makes its key files 0600.
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1', '-sha384', '-nodes'],
    ...['-days', validDays, '-subj', '/CN=openegs', '-keyout', keyFile, '-out', `${certificateFile}.new`],
  ]);
  await rename(`${certificateFile}.new`, certificateFile);
  return { certificateFile, keyFile };
}

/** The server's certificate in PEM, if it is the one with the fingerprint. */
function fetchServerCertificate(url: string, fingerprint: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // Self-signed as a rule: not an authority but the fingerprint says that it is the right one.
    const socket = connect({ host: hostname, port: Number(port || 443), rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      if (createHash('sha256').update(raw).digest('hex') !== fingerprint.toLowerCase()) {
        reject(new HostError('HostInvalid', `${url} is not the server of this token`));
      } else {
        const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
        resolve(['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'));
      }
    });
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('no answer in time')));
    socket.on('error', reject);
  });
}

/** LXD before 5.21 reads the token as a password, newer ones and Incus as a token. */
async function presentToken(
  url: string,
  token: string,
  client: { certificateFile: string; keyFile: string },
  serverCertificate: string,
): Promise<void> {
  let refusal = '';
  for (const field of ['trust_token', 'password']) {
    const answer = await post(`${url}/1.0/certificates`, client, serverCertificate, {
      type: 'client',
      name: 'openegs',
      [field]: token,
    });
    // Trusted already: the token of an earlier try was used.
    if (answer.status < 400 || /already/i.test(answer.text)) return;
    refusal = answer.text;
  }
  throw new HostError('HostInvalid', `${url} does not accept the token: ${refusal.trim()}`);
}

function post(
  url: string,
  client: { certificateFile: string; keyFile: string },
  serverCertificate: string,
  body: unknown,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: 'POST',
        agent: false,
        cert: readFileSync(client.certificateFile),
        key: readFileSync(client.keyFile),
        rejectUnauthorized: false,
        timeout: connectTimeoutMs,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8');
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 500, text }));
      },
    );
    call.on('socket', (socket) => {
      const secured = socket as TLSSocket;
      secured.on('secureConnect', () => {
        const { raw } = secured.getPeerCertificate();
        const pinned = serverCertificate.replace(/-----[A-Z ]+-----|\s/g, '');
        if (raw.toString('base64') !== pinned) call.destroy(new Error('another certificate than before'));
      });
    });
    call.on('timeout', () => call.destroy(new Error('no answer in time')));
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}
