import { execFile as execFileWithCallback } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MetadataServer } from './server.js';
import type { InstanceMetadata } from './source.js';

const execFile = promisify(execFileWithCallback);

const primary = {
  id: 'eni-1',
  macAddress: '00:16:3e:00:00:01',
  primaryAddress: '10.0.0.5',
  addresses: ['10.0.0.5', '10.0.0.6'],
  vpcId: 'vpc-1',
  vpcCidr: '10.0.0.0/8',
  vSwitchId: 'vsw-1',
  vSwitchCidr: '10.0.0.0/24',
};
const secondary = {
  ...primary,
  id: 'eni-2',
  macAddress: '00:16:3e:00:00:02',
  primaryAddress: '10.0.1.7',
  addresses: ['10.0.1.7'],
  vSwitchId: 'vsw-2',
  vSwitchCidr: '10.0.1.0/25',
};
const standard: InstanceMetadata = {
  id: 'i-1',
  accountId: '1234567890123450',
  regionId: 'cn-hangzhou',
  zoneId: 'cn-hangzhou-a',
  name: 'web-1',
  hostName: 'web',
  instanceType: 'ecs.c6.large',
  imageId: 'debian_12_x64_egs',
  serialNumber: '8f1b7e9c-0000-4000-8000-000000000001',
  options: { endpoint: 'enabled', tokens: 'optional', putResponseHopLimit: 3 },
  userData: Buffer.from([0x1f, 0x8b, 0x00, 0xff]),
  bandwidthKbits: 1_024_000,
  keyPairName: 'laptop',
  publicAddress: '47.1.2.3',
  interfaces: async () => [primary, secondary],
  disks: async () => [{ id: 'd-bp1abc', name: 'root' }],
  tags: async () => [
    { key: 'env', value: 'prod' },
    { key: 'kubernetes.io/cluster', value: 'owned' },
    { key: 'a=b', value: 'odd' },
  ],
  publicKey: async () => 'ssh-ed25519 AAAA me',
};

interface Reply {
  readonly status: number;
  readonly body: Buffer;
  readonly text: string;
  readonly rawHeaders: readonly string[];
}

describe('the metadata service', () => {
  let directory: string;
  let server: MetadataServer | undefined;
  let port: number;
  /** By calling address. */
  let callers: Map<string, InstanceMetadata>;

  async function start(): Promise<void> {
    server = await MetadataServer.start({
      source: { findCaller: async (address) => callers.get(address) },
      endpoint: { address: '127.0.0.1', port },
      directory,
      log: pino({ level: 'silent' }),
    });
  }

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'egs-metadata-'));
    callers = new Map([['127.0.0.1', standard]]);
    port = await findFreePort();
    await start();
  });
  afterEach(async () => {
    await server?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function send(
    path: string,
    options: { method?: string; headers?: Record<string, string>; from?: string } = {},
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { method = 'GET', headers = {}, from = '127.0.0.1' } = options;
      const outgoing = httpRequest(
        { host: '127.0.0.1', port, path, method, headers, localAddress: from, agent: false },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('end', () => {
            const body = Buffer.concat(chunks);
            const { statusCode: status = 0, rawHeaders } = incoming;
            resolve({ status, body, text: body.toString(), rawHeaders });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  const read = async (path: string): Promise<string> => (await send(`/latest/meta-data/${path}`)).text;
  const issueToken = async (seconds = '60', from = '127.0.0.1'): Promise<string> => {
    const reply = await send('/latest/api/token', {
      method: 'PUT',
      from,
      headers: { 'X-aliyun-ecs-metadata-token-ttl-seconds': seconds },
    });
    expect(reply.status).toBe(200);
    return reply.text;
  };
  const withToken = (token: string) => ({ headers: { 'X-aliyun-ecs-metadata-token': token } });

  describe('paths', () => {
    it.each([
      ['instance-id', 'i-1'],
      ['image-id', 'debian_12_x64_egs'],
      ['region-id', 'cn-hangzhou'],
      ['zone-id', 'cn-hangzhou-a'],
      ['hostname', 'web'],
      ['mac', '00:16:3e:00:00:01'],
      ['private-ipv4', '10.0.0.5'],
      ['sub-private-ipv4-list', '10.0.0.6'],
      ['eipv4', '47.1.2.3'],
      ['public-ipv4', '47.1.2.3'],
      ['vpc-id', 'vpc-1'],
      ['vpc-cidr-block', '10.0.0.0/8'],
      ['vswitch-id', 'vsw-1'],
      ['vswitch-cidr-block', '10.0.0.0/24'],
      ['network-type', 'vpc'],
      ['owner-account-id', '1234567890123450'],
      ['serial-number', '8f1b7e9c-0000-4000-8000-000000000001'],
      ['dns-conf/nameservers', '100.100.2.136\n100.100.2.138'],
      ['ntp-conf/ntp-servers', '0.pool.ntp.org\n1.pool.ntp.org\n2.pool.ntp.org'],
      ['hibernation/configured', 'false'],
      ['instance/instance-name', 'web-1'],
      ['instance/instance-type', 'ecs.c6.large'],
      ['instance/max-netbw-egress', '1024000'],
      ['instance/max-netbw-ingress', '1024000'],
      ['disks/', 'bp1abc/'],
      ['disks/bp1abc/id', 'd-bp1abc'],
      ['disks/bp1abc/name', 'root'],
      ['public-keys/', 'laptop/'],
      ['public-keys/laptop/openssh-key', 'ssh-ed25519 AAAA me'],
      ['public-keys/0/openssh-key', 'ssh-ed25519 AAAA me'],
      ['tags/instance/', 'env\nkubernetes.io/cluster'],
      ['tags/instance/env', 'prod'],
      ['tags/instance/kubernetes.io/cluster', 'owned'],
      ['tags/instance/kubernetes.io%2Fcluster', 'owned'],
      ['tags/instance/a%3Db', 'odd'],
      ['network/interfaces/macs/', '00:16:3e:00:00:01/\n00:16:3e:00:00:02/'],
      ['network/interfaces/macs/00:16:3e:00:00:01/network-interface-id', 'eni-1'],
      ['network/interfaces/macs/00:16:3e:00:00:01/private-ipv4s', '["10.0.0.5","10.0.0.6"]'],
      ['network/interfaces/macs/00:16:3e:00:00:01/netmask', '255.255.255.0'],
      ['network/interfaces/macs/00:16:3e:00:00:02/network-interface-id', 'eni-2'],
      ['network/interfaces/macs/00:16:3e:00:00:02/primary-ip-address', '10.0.1.7'],
      ['network/interfaces/macs/00:16:3e:00:00:02/netmask', '255.255.255.128'],
      ['network/interfaces/macs/00:16:3e:00:00:02/gateway', '10.0.1.125'],
      ['network/interfaces/macs/00:16:3e:00:00:02/vpc-id', 'vpc-1'],
      ['network/interfaces/macs/00:16:3e:00:00:02/vpc-cidr-block', '10.0.0.0/8'],
      ['network/interfaces/macs/00:16:3e:00:00:02/vswitch-id', 'vsw-2'],
      ['network/interfaces/macs/00:16:3e:00:00:02/vswitch-cidr-block', '10.0.1.0/25'],
    ])('tells %s', async (path, expected) => {
      const reply = await send(`/latest/meta-data/${path}`);
      expect(reply).toMatchObject({ status: 200, text: expected });
      expect(reply.rawHeaders).toEqual(expect.arrayContaining(['Content-Type', 'text/plain']));
    });

    it('lists versions and directories, with and without a slash at the end', async () => {
      expect((await send('/')).text).toBe('2016-01-01\nlatest');
      expect((await send('/latest')).text).toBe('dynamic/\nmaintenance/\nmeta-data/\nuser-data\nvendor-data');
      expect((await send('/latest/')).text).toBe((await send('/latest')).text);
      expect(await read('instance')).toBe(
        'instance-name\ninstance-type\nmax-netbw-egress\nmax-netbw-ingress',
      );
      expect(await read('')).toContain('\ninstance/\ninstance-id\n');
    });

    it('has everything under the dated version too', async () => {
      expect((await send('/2016-01-01/meta-data/')).text).toBe(await read(''));
      expect((await send('/2016-01-01/meta-data/instance-id')).text).toBe('i-1');
    });

    it('lists nothing that cannot be read, as cloud-init reads all of it', async () => {
      const bare = { ...standard, tags: async () => [], publicKey: async () => undefined };
      callers.set('127.0.0.1', bare);
      const walk = async (path: string): Promise<number> => {
        const reply = await send(path);
        expect(reply, path).toMatchObject({ status: 200 });
        if (!path.endsWith('/')) return 1;
        const names = reply.text.split('\n').filter((name) => name !== '');
        let leaves = 0;
        for (const name of names) leaves += await walk(path + name);
        return leaves;
      };
      expect(await walk('/2016-01-01/')).toBeGreaterThan(40);
    });

    it('gives user data back byte for byte, and an empty text for vendor data', async () => {
      expect((await send('/latest/user-data')).body).toEqual(standard.userData);
      expect(await send('/2016-01-01/vendor-data')).toMatchObject({ status: 200, text: '' });
      expect(await send('/latest/maintenance/active-system-events')).toMatchObject({ text: '[]' });
    });

    it('has no place for what the instance does not have', async () => {
      const { userData: _1, keyPairName: _2, publicAddress: _3, bandwidthKbits: _4, ...bare } = standard;
      callers.set('127.0.0.1', bare);
      expect(await send('/latest/user-data')).toMatchObject({ status: 404 });
      for (const path of [
        'eipv4',
        'public-keys/',
        'instance/max-netbw-egress',
        'instance/spot/termination-time',
        'ram/security-credentials/',
      ]) {
        expect(await send(`/latest/meta-data/${path}`), path).toMatchObject({ status: 404 });
      }
      expect(await read('')).not.toMatch(/eipv4|public-keys|ram/);
    });

    it.each([
      '/earliest/',
      '/latest/meta-data/instance-id/more',
      '/latest/meta-data/__proto__',
      '/latest/meta-data/../user-data',
      '/latest/meta-data/%zz',
      'http://other/latest/',
    ])('does not know %s', async (path) => {
      expect(await send(path)).toMatchObject({ status: 404, text: '404 - Not Found\n' });
    });

    it('answers HEAD like GET without the content, and refuses other methods', async () => {
      const head = await send('/latest/meta-data/instance-id', { method: 'HEAD' });
      expect(head).toMatchObject({ status: 200, text: '' });
      expect(head.rawHeaders).toEqual(expect.arrayContaining(['Content-Length', '3']));
      for (const method of ['POST', 'PUT', 'DELETE']) {
        expect(await send('/latest/meta-data/instance-id', { method })).toMatchObject({ status: 405 });
      }
      expect(await send('/latest/api/token')).toMatchObject({ status: 405 });
    });
  });

  describe('access', () => {
    const required = { ...standard, options: { ...standard.options, tokens: 'required' } } as const;
    const neighbour = { ...required, id: 'i-2' };

    it('knows callers by their address alone', async () => {
      callers.set('127.0.0.2', { ...neighbour, options: standard.options });
      expect(await send('/latest/meta-data/instance-id', { from: '127.0.0.2' })).toMatchObject({
        text: 'i-2',
      });
      expect(await read('instance-id')).toBe('i-1');
      expect(await send('/latest/meta-data/instance-id', { from: '127.0.0.3' })).toMatchObject({
        status: 404,
      });
    });

    it('answers 403 to everything where the endpoint is disabled', async () => {
      const token = await issueToken();
      callers.set('127.0.0.1', { ...standard, options: { ...standard.options, endpoint: 'disabled' } });
      expect(await send('/latest/meta-data/instance-id', withToken(token))).toMatchObject({ status: 403 });
      expect(
        await send('/latest/api/token', {
          method: 'PUT',
          headers: { 'X-aliyun-ecs-metadata-token-ttl-seconds': '60' },
        }),
      ).toMatchObject({ status: 403 });
    });

    it('asks for a token where one is required, and takes one where none is', async () => {
      const token = await issueToken();
      expect(await send('/latest/meta-data/instance-id', withToken(token))).toMatchObject({ text: 'i-1' });
      callers.set('127.0.0.1', required);
      expect(await send('/latest/meta-data/instance-id')).toMatchObject({ status: 403 });
      expect(await send('/latest/user-data')).toMatchObject({ status: 403 });
      expect(await send('/latest/meta-data/instance-id', withToken(token))).toMatchObject({ text: 'i-1' });
    });

    it('answers 401 to a token that was forged, changed, or made for another instance', async () => {
      const token = await issueToken();
      const changed = Buffer.from(token, 'base64url');
      changed[3] = (changed[3] ?? 0) ^ 1;
      callers.set('127.0.0.2', neighbour);
      for (const wrong of ['aaa', '', `${token}AAAA`, changed.toString('base64url')]) {
        expect(await send('/latest/meta-data/mac', withToken(wrong)), wrong).toMatchObject({ status: 401 });
      }
      expect(await send('/latest/meta-data/mac', { ...withToken(token), from: '127.0.0.2' })).toMatchObject({
        status: 401,
      });
    });

    it.each([undefined, '0', '21601', '-1', '1e3', 'long', ''])(
      'gives no token for %s seconds',
      async (life) => {
        const headers = life === undefined ? {} : { 'X-aliyun-ecs-metadata-token-ttl-seconds': life };
        expect(await send('/latest/api/token', { method: 'PUT', headers })).toMatchObject({
          status: 400,
          text: '400 - Missing or Invalid Parameters\n',
        });
      },
    );

    it('gives no token to a proxy', async () => {
      const headers = { 'X-aliyun-ecs-metadata-token-ttl-seconds': '60', 'X-Forwarded-For': '1.2.3.4' };
      expect(await send('/latest/api/token', { method: 'PUT', headers })).toMatchObject({ status: 403 });
    });

    it('says first how far the answer with a token may travel', async () => {
      const reply = await send('/latest/api/token', {
        method: 'PUT',
        headers: { 'X-aliyun-ecs-metadata-token-ttl-seconds': '21600' },
      });
      expect(reply.rawHeaders.slice(0, 2)).toEqual(['X-Hop-Limit', '03']);
      expect((await send('/latest/user-data')).rawHeaders[0]).toBe('Content-Type');
    });

    it('takes tokens from before a restart, and keeps its keys to itself', async () => {
      const token = await issueToken();
      await server?.close();
      await start();
      callers.set('127.0.0.1', required);
      expect(await send('/latest/meta-data/instance-id', withToken(token))).toMatchObject({ text: 'i-1' });
      expect(statSync(join(directory, 'metadata')).mode & 0o777).toBe(0o700);
      expect(statSync(join(directory, 'metadata', 'token.key')).mode & 0o777).toBe(0o600);
    });

    it('refuses a caller that asks without end, and no other one', async () => {
      callers.set('127.0.0.2', { ...neighbour, options: standard.options });
      const replies = await Promise.all(
        Array.from({ length: 50 }, () => send('/latest/dynamic/instance-identity/pkcs7')),
      );
      expect(replies.some(({ status }) => status === 429)).toBe(true);
      expect(await send('/latest/meta-data/instance-id', { from: '127.0.0.2' })).toMatchObject({
        text: 'i-2',
      });
    });
  });

  describe('identity', () => {
    const verify = async (signature: string): Promise<string> => {
      const file = join(directory, 'signature.p7');
      writeFileSync(file, Buffer.from(signature, 'base64'));
      const certificate = join(directory, 'metadata', 'instance-identity.crt');
      const { stdout } = await execFile('openssl', [
        ...['smime', '-verify', '-inform', 'DER', '-in', file, '-certfile', certificate, '-noverify'],
      ]);
      return stdout;
    };
    const document = {
      'zone-id': 'cn-hangzhou-a',
      'serial-number': '8f1b7e9c-0000-4000-8000-000000000001',
      'instance-id': 'i-1',
      'region-id': 'cn-hangzhou',
      'private-ipv4': '10.0.0.5',
      'owner-account-id': '1234567890123450',
      mac: '00:16:3e:00:00:01',
      'image-id': 'debian_12_x64_egs',
      'instance-type': 'ecs.c6.large',
    };

    it('shows a document with the fields in the order of the original', async () => {
      const { text } = await send('/latest/dynamic/instance-identity/document');
      expect(text).toBe(JSON.stringify(document));
    });

    it('signs the document, so that openssl and the certificate can tell', async () => {
      const { text, status } = await send('/latest/dynamic/instance-identity/pkcs7');
      expect(status).toBe(200);
      expect(text).toMatch(/^[A-Za-z0-9+/=\n]+$/);
      expect(await verify(text)).toBe(JSON.stringify(document));
      const key = statSync(join(directory, 'metadata', 'instance-identity.key'));
      expect(key.mode & 0o777).toBe(0o600);
    });

    it('signs an audience with it, and keeps its key over a restart', async () => {
      const path = '/latest/dynamic/instance-identity/pkcs7?audience=a%20%22word%22';
      const { text } = await send(path);
      expect(JSON.parse(await verify(text))).toEqual({ ...document, audience: 'a "word"' });
      await server?.close();
      await start();
      expect((await send(path)).text).toBe(text);
      const long = `/latest/dynamic/instance-identity/pkcs7?audience=${'x'.repeat(1025)}`;
      expect(await send(long)).toMatchObject({ status: 400 });
    });

    it('verifies nothing that was changed after the signature', async () => {
      const { text } = await send('/latest/dynamic/instance-identity/pkcs7');
      const signed = Buffer.from(text, 'base64');
      const at = signed.indexOf('i-1');
      signed.write('i-2', at);
      await expect(verify(signed.toString('base64'))).rejects.toThrow();
      expect(readFileSync(join(directory, 'metadata', 'instance-identity.crt'), 'utf8')).toContain(
        'BEGIN CERTIFICATE',
      );
    });
  });
});

/** A port that was free a moment ago. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
