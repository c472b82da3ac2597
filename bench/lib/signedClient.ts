import { randomUUID } from 'node:crypto';
import { signV1 } from '@openegs/cloud/wire/signature';
import { Pool } from 'undici';

export interface Credentials {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
}

/** Sends V1-signed requests over kept-alive connections, with little cost of its own. */
export class SignedClient {
  private readonly pool: Pool;

  constructor(
    endpoint: string,
    private readonly credentials: Credentials,
    connections: number,
  ) {
    this.pool = new Pool(endpoint, { connections });
  }

  async call(action: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
    const all = new Map<string, string>([
      ['AccessKeyId', this.credentials.accessKeyId],
      ['Action', action],
      ['Format', 'JSON'],
      ['SignatureMethod', 'HMAC-SHA1'],
      ['SignatureNonce', randomUUID()],
      ['SignatureVersion', '1.0'],
      ['Timestamp', `${new Date().toISOString().slice(0, 19)}Z`],
      ['Version', '2014-05-26'],
      ...Object.entries(parameters),
    ]);
    all.set('Signature', signV1('GET', all, this.credentials.accessKeySecret));
    const query = new URLSearchParams([...all]).toString();
    const answer = await this.pool.request({ method: 'GET', path: `/?${query}` });
    const body = await answer.body.json();
    if (answer.statusCode !== 200) throw new Error(`${action}: ${answer.statusCode} ${JSON.stringify(body)}`);
    return body;
  }

  async close(): Promise<void> {
    await this.pool.close();
  }
}
