import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { EngineClient } from './EngineClient.js';
import { ignoreMissing } from './engineErrors.js';
import { withProbeInstance } from './withProbeInstance.js';

/** The two files of a split image. */
export interface SplitImageFiles {
  readonly metadata: string;
  readonly rootfs: string;
}

/** Gives the fingerprint of the alias' image; `undefined` when there is no such alias. */
export async function findImageFingerprint(
  client: EngineClient,
  project: string,
  alias: string,
): Promise<string | undefined> {
  const path = `/1.0/images/aliases/${encodeURIComponent(alias)}`;
  const reply = await ignoreMissing(client.call<{ target: string }>('GET', path, { query: { project } }));
  return reply?.metadata.target;
}

/**
 * Imports the image unless the engine has it, and points the alias at it; the image that the alias had
 * before goes. The pool unpacks it at once, so
 * that the first instance starts as fast as the others.
 */
export async function importSplitImage(
  client: EngineClient,
  where: { readonly project: string; readonly pool: string },
  alias: string,
  files: SplitImageFiles,
): Promise<void> {
  const { project } = where;
  const query = { project };
  const fingerprint = await hashFiles(files);
  const known = await findImageFingerprint(client, project, alias);
  if (known === fingerprint) return;
  const exists = await ignoreMissing(client.call('GET', `/1.0/images/${fingerprint}`, { query }));
  if (exists === undefined) {
    const form = await createForm(files);
    await client.run('POST', '/1.0/images', { query, ...form }).catch((error: unknown) => {
      // Somebody else imported it at the same time.
      if (!(error instanceof Error && /fingerprint already exists/i.test(error.message))) throw error;
    });
  }
  await withProbeInstance(client, where, { type: 'image', fingerprint }, () => undefined);
  if (known === undefined) {
    await client.call('POST', '/1.0/images/aliases', { query, body: { name: alias, target: fingerprint } });
  } else {
    const path = `/1.0/images/aliases/${encodeURIComponent(alias)}`;
    await client.call('PUT', path, { query, body: { target: fingerprint } });
    await ignoreMissing(client.run('DELETE', `/1.0/images/${known}`, { query }));
  }
}

/** The engine's own measure: the hash of both files, one after the other. */
async function hashFiles({ metadata, rootfs }: SplitImageFiles): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [metadata, rootfs]) for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

/** multipart/form-data (RFC 7578) with the files streamed; the engine wants the metadata first. */
async function createForm({ metadata, rootfs }: SplitImageFiles) {
  const boundary = `egs-${randomUUID()}`;
  const parts = [
    { head: `--${boundary}\r\n${disposition('metadata')}`, file: metadata },
    { head: `\r\n--${boundary}\r\n${disposition('rootfs')}`, file: rootfs },
  ];
  const end = `\r\n--${boundary}--\r\n`;
  let length = end.length;
  for (const { head, file } of parts) length += head.length + (await stat(file)).size;
  async function* write(): AsyncGenerator<Buffer | string> {
    for (const { head, file } of parts) {
      yield head;
      yield* createReadStream(file);
    }
    yield end;
  }
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(length),
    },
    body: Readable.from(write(), { objectMode: false }),
  };
}

function disposition(name: string): string {
  return (
    `Content-Disposition: form-data; name="${name}"; filename="${name}"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n'
  );
}
