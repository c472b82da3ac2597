import { execFile as execFileWithCallback } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { promisify } from 'node:util';
import * as ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { nthAddress } from '../domain/network/addresses.js';
import { type Clients, connectClients } from '../testing/clients.js';
import { HostCloud } from '../testing/hostCloud.js';
import { createTwinVpc } from './testing/twinVpc.js';

const execFile = promisify(execFileWithCallback);
vi.setConfig({ testTimeout: 120_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of the metadata service need root');

const service = 'http://100.100.100.200';
const publicKeyBody =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy me@home';
const script = '#!/bin/sh\necho "script ran on $(hostname)" >/root/script\n';
const cloudConfig = `#cloud-config
write_files:
  - path: /root/written
    content: by cloud-config
runcmd:
  - [sh, -c, 'echo ran >/root/ran']
`;

describe.skipIf(!isRoot)(`metadata inside instances${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let host: HostCloud;
  let clients: Clients;
  /** By what they are made to show. */
  const instances = new Map<string, string>();
  const privateIpAddress = '172.16.0.200';

  beforeAll(async () => {
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    await clients.ecs.importKeyPair(
      new ecs.ImportKeyPairRequest({ regionId: host.regionId, keyPairName: 'laptop', publicKeyBody }),
    );
    const twin = await createTwinVpc(host.cloud, 'cn-hangzhou-a');
    const { vSwitchId, securityGroupId } = twin;
    await run('script', {
      vSwitchId: twin.defaultVSwitchId,
      privateIpAddress,
      hostName: 'scripted',
      keyPairName: 'laptop',
      userData: encode(script),
    });
    await run('twin', { vSwitchId, securityGroupId, privateIpAddress, userData: encode(cloudConfig) });
    await run('hardened', {
      vSwitchId: twin.defaultVSwitchId,
      httpTokens: 'required',
      userData: encode(script),
    });
    await host.cloud.reconciler.idle();
    for (const id of instances.values()) await inside(id, '/usr/lib/egs/wait-online');
  }, 300_000);
  afterAll(() => host?.stop(), 120_000);

  async function run(name: string, more: Partial<ecs.RunInstancesRequest>): Promise<void> {
    const { body } = await clients.ecs.runInstances(
      new ecs.RunInstancesRequest({
        regionId: host.regionId,
        imageId: host.image.name,
        instanceType: 'ecs.c6.large',
        systemDisk: new ecs.RunInstancesRequestSystemDisk({ size: '20' }),
        ...more,
      }),
    );
    instances.set(name, body?.instanceIdSets?.instanceIdSet?.[0] ?? '');
  }

  const idOf = (name: string): string => instances.get(name) ?? '';

  /** Runs a program in an instance; answers with what it prints. */
  async function inside(id: string, ...command: string[]): Promise<string> {
    const chunks: Uint8Array[] = [];
    const { exitCode } = await host.compute.exec(id, {
      command,
      onOutput: (_, chunk) => chunks.push(chunk),
    });
    const output = Buffer.concat(chunks).toString();
    if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`);
    return output;
  }

  const curl = (name: string, path: string, ...more: string[]): Promise<string> =>
    inside(idOf(name), 'curl', '-sS', '-m', '10', ...more, `${service}${path}`);
  const statusOf = (name: string, path: string, ...more: string[]): Promise<string> =>
    curl(name, path, '-o', '/dev/null', '-w', '%{http_code}', ...more);
  const issueToken = (name: string): Promise<string> =>
    curl(name, '/latest/api/token', '-X', 'PUT', '-H', 'X-aliyun-ecs-metadata-token-ttl-seconds: 60');
  const modify = (name: string, options: Partial<ecs.ModifyInstanceMetadataOptionsRequest>) =>
    clients.ecs.modifyInstanceMetadataOptions(
      new ecs.ModifyInstanceMetadataOptionsRequest({
        regionId: host.regionId,
        instanceId: idOf(name),
        httpEndpoint: 'enabled',
        ...options,
      }),
    );

  it('reaches curl without a token', async () => {
    expect(await curl('script', '/latest/meta-data/instance-id')).toBe(idOf('script'));
    expect(await curl('script', '/latest/meta-data/hostname')).toBe('scripted');
    expect(await curl('script', '/latest/meta-data/private-ipv4')).toBe(privateIpAddress);
    expect(await curl('script', '/latest/user-data')).toBe(script);
    const mac = await curl('script', '/latest/meta-data/mac');
    expect(await inside(idOf('script'), 'cat', '/sys/class/net/eth0/address')).toBe(`${mac}\n`);
    const ofInterface = `/latest/meta-data/network/interfaces/macs/${mac}`;
    const gateway = await curl('script', `${ofInterface}/gateway`);
    expect(await inside(idOf('script'), 'ip', 'route', 'show', 'default')).toContain(`via ${gateway} `);
    expect(JSON.parse(await curl('script', '/latest/dynamic/instance-identity/document'))).toMatchObject({
      'instance-id': idOf('script'),
      'private-ipv4': privateIpAddress,
    });
  });

  it('reaches curl with a token, and only so where one is required', async () => {
    for (const name of ['script', 'hardened']) {
      const header = `X-aliyun-ecs-metadata-token: ${await issueToken(name)}`;
      expect(await curl(name, '/latest/meta-data/instance-id', '-H', header)).toBe(idOf(name));
    }
    expect(await statusOf('hardened', '/latest/meta-data/instance-id')).toBe('403');
    const foreign = `X-aliyun-ecs-metadata-token: ${await issueToken('script')}`;
    expect(await statusOf('hardened', '/latest/meta-data/instance-id', '-H', foreign)).toBe('401');
  });

  it('is switched off and on', async () => {
    await modify('hardened', { httpEndpoint: 'disabled' });
    expect(await statusOf('hardened', '/latest/meta-data/instance-id')).toBe('403');
    expect(await statusOf('hardened', '/latest/api/token', '-X', 'PUT')).toBe('403');
    await modify('hardened', { httpTokens: 'required' });
    expect(await issueToken('hardened')).not.toBe('');
  });

  it('tells instances with the same address in two VPCs apart', async () => {
    expect(await curl('twin', '/latest/meta-data/private-ipv4')).toBe(privateIpAddress);
    expect(await curl('twin', '/latest/meta-data/instance-id')).toBe(idOf('twin'));
    expect(await curl('script', '/latest/meta-data/instance-id')).toBe(idOf('script'));
    expect(await curl('twin', '/latest/meta-data/vpc-id')).not.toBe(
      await curl('script', '/latest/meta-data/vpc-id'),
    );
  });

  it('sends tokens as far as the hop limit says, and everything else as far as it goes', async () => {
    const arrival = async (request: string): Promise<number> =>
      Number(await inside(idOf('script'), 'python3', '-c', readTtl, request));
    const put =
      'PUT /latest/api/token HTTP/1.1\r\nHost: m\r\nX-aliyun-ecs-metadata-token-ttl-seconds: 60\r\n\r\n';
    expect(await arrival(put)).toBe(1);
    await modify('script', { httpPutResponseHopLimit: 64 });
    expect(await arrival(put)).toBe(64);
    await modify('script', { httpPutResponseHopLimit: 7 });
    expect(await arrival(put)).toBe(7);
    await inside(idOf('script'), 'sh', '-c', 'echo 0 >/proc/sys/net/ipv4/tcp_timestamps');
    expect(await arrival(put)).toBe(7);
    expect(await arrival('GET /latest/meta-data/mac HTTP/1.1\r\nHost: m\r\n\r\n')).toBe(63);
  });

  it('is what cloud-init starts an instance from', async () => {
    const waitFor = (name: string): Promise<string> => inside(idOf(name), 'cloud-init', 'status', '--wait');
    expect(await waitFor('script')).toContain('status: done');
    expect(await inside(idOf('script'), 'cloud-id')).toBe('aliyun\n');
    expect(await inside(idOf('script'), 'cat', '/root/script')).toBe('script ran on scripted\n');
    expect(await inside(idOf('script'), 'hostname')).toBe('scripted\n');
    expect(await inside(idOf('script'), 'cat', '/root/.ssh/authorized_keys')).toContain(
      publicKeyBody.split(' ')[1],
    );
    // Only the service knows these; the seed beside it does not.
    const data = JSON.parse(
      await inside(idOf('script'), 'cat', '/run/cloud-init/instance-data-sensitive.json'),
    ) as { ds: { 'meta-data': unknown } };
    expect(data.ds['meta-data']).toMatchObject({
      'instance-id': idOf('script'),
      'zone-id': 'cn-hangzhou-a',
      'private-ipv4': privateIpAddress,
      'public-keys': { laptop: { 'openssh-key': expect.stringContaining('ssh-ed25519') } },
      instance: { 'instance-type': 'ecs.c6.large' },
    });

    expect(await waitFor('twin')).toContain('status: done');
    expect(await inside(idOf('twin'), 'cat', '/root/written')).toBe('by cloud-config');
    expect(await inside(idOf('twin'), 'cat', '/root/ran')).toBe('ran\n');
  });

  it('is not needed where a token is required that cloud-init does not know to ask for', async () => {
    expect(await inside(idOf('hardened'), 'cloud-init', 'status', '--wait')).toContain('status: done');
    expect(await inside(idOf('hardened'), 'cat', '/root/script')).toContain('script ran on iZ');
  });

  it('is read by the official credentials library in token mode', async () => {
    const { metadata } = await getEngine<{ metadata: { pid: number } }>(
      `/1.0/instances/${idOf('hardened')}/state`,
    );
    const { stdout } = await execFile('nsenter', [
      ...['--net', `--target=${metadata.pid}`, process.execPath, '--input-type=module', '-e', askForRole],
    ]);
    // There are no RAM roles: the library got its token, came through with it, and was told so.
    expect(stdout).toMatch(/security-credentials/);
    expect(stdout).toMatch(/404/);
  });

  it('tells the host nothing', async () => {
    const { fabricCidr, metadataPort: port } = host.config.network;
    const address = nthAddress(fabricCidr, 1);
    const reply = await new Promise<number | undefined>((resolve, reject) => {
      httpRequest({ host: address, port, path: '/latest/meta-data/instance-id' }, (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(reply).toBe(404);
  });

  it('goes on when the control plane comes back', async () => {
    const token = await issueToken('hardened');
    await host.stopControlPlane();
    await host.startControlPlane();
    const header = `X-aliyun-ecs-metadata-token: ${token}`;
    expect(await curl('hardened', '/latest/meta-data/instance-id', '-H', header)).toBe(idOf('hardened'));
  });

  function getEngine<Answer>(path: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const url = `${path}?project=${host.engine.project}`;
      httpRequest({ socketPath: host.engine.socketPath, path: url }, (incoming) => {
        let text = '';
        incoming.on('data', (chunk) => {
          text += chunk;
        });
        incoming.on('end', () => resolve(JSON.parse(text)));
      })
        .on('error', reject)
        .end();
    });
  }
});

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Sends a request and prints the time to live with which the packet arrives that begins the answer. */
const readTtl = `
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
packets.bind(("eth0", 0))
packets.settimeout(5)
connection = socket.create_connection(("100.100.100.200", 80), 5)
connection.sendall(sys.argv[1].encode())
while True:
    packet, where = packets.recvfrom(65535)
    port = int.from_bytes(packet[22:24], "big")
    if where[2] != 4 and port == connection.getsockname()[1] and b"HTTP/1.1 " in packet:
        print(packet[8])
        break
`;

const askForRole = `
import credentials from '@alicloud/credentials';
const { default: Credential, Config } = credentials;
const credential = new Credential(new Config({ type: 'ecs_ram_role', disableIMDSv1: true }));
await credential.getCredential().then(console.log, (error) => console.log(String(error)));
`;
