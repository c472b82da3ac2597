import { execFile as execFileWithCallback, spawn } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type BaseImage, ensureBaseImage, type PrivateEngine, startPrivateEngine } from '@openegs/setup';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HostId } from '../../domain/ids.js';
import { type ComputeContractEngine, describeComputeContract } from './contract.js';
import type { ComputeDriver, ComputeError, InstanceNic, InstanceSpec } from './driver.js';
import { EngineClient } from './lxd/EngineClient.js';
import { LxdComputeDriver } from './lxd/LxdComputeDriver.js';

const execFile = promisify(execFileWithCallback);

// Guests boot, and shut down, several times in a test.
vi.setConfig({ testTimeout: 60_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of LxdComputeDriver need root');

describe.skipIf(!isRoot)(`LxdComputeDriver${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let engine: PrivateEngine;
  let image: BaseImage;

  async function connect(cloud: string): Promise<LxdComputeDriver> {
    return LxdComputeDriver.connect({
      hostId: 'host-1' as HostId,
      endpoint: { kind: 'unix', socketPath: engine.socketPath },
      project: engine.project,
      pool: engine.pool,
      cloud,
    });
  }

  beforeAll(async () => {
    image = await ensureBaseImage();
    // `EGS_TEST_ENGINE=incus` puts the same driver to the test on the other engine, where it is installed.
    const { EGS_TEST_ENGINE } = process.env;
    engine = await startPrivateEngine({
      directory: `/var/lib/egs-test-${randomBytes(4).toString('hex')}`,
      ...(EGS_TEST_ENGINE === 'incus' || EGS_TEST_ENGINE === 'lxd' ? { flavor: EGS_TEST_ENGINE } : {}),
    });
    const driver = await connect('contract');
    await driver.importImage(image.name, image);
    await driver.close();
  }, 180_000);

  afterAll(() => engine?.stop(), 60_000);

  describeComputeContract(
    (): ComputeContractEngine => ({
      image: image.name,
      imageFiles: image,
      connect: () => connect('contract'),
      kill: () => engine.kill(),
      start: () => engine.start(),
      fillRootDisk: (driver, name) => runScript(driver, name, 'cat /dev/zero >/root/filler; sync; true'),
      useMemory: holdMemory,
    }),
  );

  function createSpec(name: string, change: Partial<InstanceSpec> = {}): InstanceSpec {
    return {
      name,
      image: image.name,
      kind: 'container',
      vcpus: 1,
      memoryMiB: 256,
      rootDiskGiB: 2,
      nics: [],
      disks: [],
      seed: { instanceId: name, hostName: `${name}-host`, authorizedKeys: [] },
      ...change,
    };
  }

  /** A driver; the named instances are removed when the test is over. */
  async function setUp(...names: string[]): Promise<LxdComputeDriver> {
    const driver = await connect('contract');
    onTestFinished(async () => {
      for (const name of names) await driver.deleteInstance(name);
      await driver.close();
    });
    return driver;
  }

  it.each([
    { step: 'creates', momentsMs: [0, 40, 120, 200] },
    { step: 'starts', momentsMs: [0, 300, 700] },
    { step: 'deletes', momentsMs: [0, 30] },
  ])(
    '$step an instance when it is asked again after the engine was killed over it',
    async ({ step, momentsMs }) => {
      const driver = await setUp('i-crash');
      const spec = createSpec('i-crash');
      for (const momentMs of momentsMs) {
        if (step !== 'creates') await driver.createInstance(spec);
        const doStep = async (): Promise<void> => {
          if (step === 'creates') await driver.createInstance(spec);
          else if (step === 'starts') await driver.startInstance(spec.name);
          else await driver.deleteInstance(spec.name);
        };
        const first = doStep().then(
          () => 'done',
          (error: ComputeError) => error.reason,
        );
        await delay(momentMs);
        await engine.kill();
        expect(await first, `${momentMs} ms`).toMatch(/^(done|unavailable)$/);
        await engine.start();
        if (step === 'deletes') {
          await doStep();
          expect(await driver.findInstance(spec.name)).toBeUndefined();
          continue;
        }
        // As a loop does that knows no more than what it finds.
        if ((await driver.findInstance(spec.name)) === undefined) await driver.createInstance(spec);
        await driver.startInstance(spec.name);
        await waitForSsh(driver, spec.name);
        expect(await readOutput(driver, spec.name, 'hostname')).toBe('i-crash-host\n');
        await driver.deleteInstance(spec.name);
      }
    },
    120_000,
  );

  it('neither shows nor touches the instances of another cloud', async () => {
    const driver = await setUp('i-mine');
    const other = await connect('another');
    onTestFinished(() => other.close());
    const spec = createSpec('i-mine');
    await driver.createInstance(spec);
    expect(await other.findInstance('i-mine')).toBeUndefined();
    expect(await other.listInstances()).toEqual([]);
    await expect(other.startInstance('i-mine')).rejects.toMatchObject({ reason: 'not-found' });
    await expect(other.createInstance(spec)).rejects.toMatchObject({ reason: 'refused' });
    await other.deleteInstance('i-mine');
    expect(await driver.findInstance('i-mine')).toMatchObject({ status: 'stopped' });
  });

  it('keeps the owners of files on a volume that goes from one instance to another, and on its copies', async () => {
    const names = ['i-volume-1', 'i-volume-2'] as const;
    const volumes = ['d-owners', 's-owners', 'd-owners-2'] as const;
    const driver = await connect('contract');
    onTestFinished(async () => {
      for (const name of names) await driver.deleteInstance(name);
      for (const volume of volumes) await driver.deleteVolume(volume);
      await driver.close();
    });
    const [one, two] = names;
    const [disk, snapshot, restored] = volumes;
    const plug = (name: string, ...plugged: string[]): Promise<void> =>
      driver.updateInstance(
        createSpec(name, { disks: plugged.map((volume) => ({ volume, path: `/mnt/${volume}` })) }),
      );
    const run = async (name: string, script: string): Promise<string> => {
      let output = '';
      await driver.exec(name, {
        command: ['/bin/sh', '-c', script],
        onOutput: (_stream, chunk) => {
          output += Buffer.from(chunk).toString();
        },
      });
      return output.trim();
    };
    for (const name of names) {
      await driver.createInstance(createSpec(name));
      await driver.startInstance(name);
    }
    await driver.createVolume({ name: disk, sizeGiB: 1 });
    await plug(one, disk);
    await run(one, `touch /mnt/${disk}/root /mnt/${disk}/other; chown 1234:1234 /mnt/${disk}/other`);
    await driver.createVolume({ name: snapshot, sizeGiB: 1, source: disk });
    await plug(one);
    await plug(two, disk);
    const owners = (volume: string): string => `cd /mnt/${volume} && stat -c %n:%u:%g root other`;
    expect(await run(two, owners(disk))).toBe('root:0:0\nother:1234:1234');
    await driver.createVolume({ name: restored, sizeGiB: 2, source: snapshot });
    await plug(two, restored);
    expect(await run(two, owners(restored))).toBe('root:0:0\nother:1234:1234');
    expect(await run(two, `touch /mnt/${restored}/new && stat -c %u /mnt/${restored}/new`)).toBe('0');
  });

  it('lets a full volume neither block its instance nor outgrow its size', async () => {
    const driver = await connect('contract');
    onTestFinished(async () => {
      await driver.deleteInstance('i-full');
      for (const volume of ['d-full', 's-full']) await driver.deleteVolume(volume);
      await driver.close();
    });
    const spec = createSpec('i-full', { disks: [{ volume: 'd-full', path: '/mnt/d-full' }] });
    // A copy, of the same size: it has a limit of its own.
    await driver.createVolume({ name: 's-full', sizeGiB: 1 });
    await driver.createVolume({ name: 'd-full', sizeGiB: 1, source: 's-full' });
    await driver.createInstance(spec);
    await driver.startInstance(spec.name);
    await runScript(driver, spec.name, 'cat /dev/zero >/mnt/d-full/filler; sync; true');
    const { usedBytes } = await driver.getVolumeUsage('d-full');
    expect(usedBytes).toBeGreaterThan(0.9 * 1024 ** 3);
    expect(usedBytes).toBeLessThan(1.05 * 1024 ** 3);
    await driver.stopInstance(spec.name);
    await driver.startInstance(spec.name);
    await driver.growVolume('d-full', 2);
    await driver.writeFile(spec.name, '/mnt/d-full/room', Buffer.alloc(100_000), {
      mode: 0o600,
      userId: 0,
      groupId: 0,
    });
  });

  it('lets the guest shut down by itself, even right after the start', async () => {
    const driver = await setUp('i-grace');
    await driver.createInstance(createSpec('i-grace'));
    const script = Buffer.from('#!/bin/sh\ntouch /root/shut-down\n');
    await driver.writeFile('i-grace', '/usr/lib/systemd/system-shutdown/note', script, {
      mode: 0o755,
      userId: 0,
      groupId: 0,
    });
    await driver.startInstance('i-grace');
    await driver.stopInstance('i-grace', { graceTimeoutMs: 30_000 });
    expect(await driver.readFile('i-grace', '/root/shut-down')).toBeDefined();
  });

  it('gives instances that are made at the same time user ids of their own', async () => {
    const names = ['i-many1', 'i-many2', 'i-many3', 'i-many4', 'i-many5'];
    const driver = await setUp(...names);
    await Promise.all(
      names.map(async (name) => {
        await driver.createInstance(createSpec(name));
        await driver.startInstance(name);
      }),
    );
    const maps = await Promise.all(names.map((name) => readOutput(driver, name, 'cat /proc/self/uid_map')));
    const bases = maps.map((map) => /^ *0 +(\d+) +65536\n$/.exec(map)?.[1]);
    expect(bases).not.toContain(undefined);
    expect(new Set(bases).size).toBe(names.length);
  });

  it('starts an instance that is larger than the machine', async () => {
    const driver = await setUp('i-large');
    await driver.createInstance(createSpec('i-large', { vcpus: 104, memoryMiB: 786_432, rootDiskGiB: 500 }));
    await driver.startInstance('i-large');
    expect(await driver.findInstance('i-large')).toMatchObject({
      status: 'running',
      vcpus: 104,
      memoryMiB: 786_432,
      rootDiskGiB: 500,
    });
  });

  it('kills all that an aborted program has started', async () => {
    const driver = await setUp('i-abort');
    await driver.createInstance(createSpec('i-abort'));
    await driver.startInstance('i-abort');
    const abort = new AbortController();
    const script = 'sleep 987 & setsid sleep 987 & echo started; wait';
    const running = driver.exec('i-abort', {
      command: ['/bin/sh', '-c', script],
      signal: abort.signal,
      onOutput: () => abort.abort(),
    });
    await expect(running).rejects.toThrow('aborted');
    await vi.waitFor(async () => {
      const count = 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " | grep -c "[s]leep 987 " || true';
      expect(await readOutput(driver, 'i-abort', count)).toBe('0\n');
    }, 10_000);
  });

  it('starts an instance whose first start failed over a missing bridge', async () => {
    const network = await createTestNetwork();
    const driver = await setUp('i-bridge');
    const nics = [network.nics[0], { ...network.nics[1], bridge: 'egs-no-such' }];
    await driver.createInstance(createSpec('i-bridge', { nics }));
    await expect(driver.startInstance('i-bridge')).rejects.toMatchObject({ name: 'ComputeError' });
    expect(await driver.findInstance('i-bridge')).toMatchObject({ status: 'stopped' });
    await driver.updateInstance(createSpec('i-bridge', { nics: network.nics }));
    await driver.startInstance('i-bridge');
    expect(await driver.findInstance('i-bridge')).toMatchObject({ status: 'running' });
    await driver.deleteInstance('i-bridge');
    for (const { hostDevice } of network.nics) {
      await expect(execFile('ip', ['link', 'show', hostDevice])).rejects.toThrow('does not exist');
    }
  });

  it('refuses to start with a card that is not there, and starts once the card is taken away', async () => {
    const driver = await setUp('i-gpu');
    const gpus = {
      devices: [{ type: 'card', pciAddress: '0000:3b:00.0' }],
      environment: { CUDA_DEVICE_SM_LIMIT: '50' },
      mounts: [{ source: '/etc/hostname', path: '/usr/local/vgpu/libvgpu.so', readOnly: true }],
      usesNvidiaRuntime: false,
    } as const;
    await driver.createInstance(createSpec('i-gpu', { gpus }));
    await expect(driver.startInstance('i-gpu')).rejects.toMatchObject({ reason: 'refused' });
    // What is no card, the engine of any machine takes.
    await driver.updateInstance(createSpec('i-gpu', { gpus: { ...gpus, devices: [] } }));
    await driver.startInstance('i-gpu');
    const seen = 'test "$CUDA_DEVICE_SM_LIMIT" = 50 && test -s /usr/local/vgpu/libvgpu.so';
    await runScript(driver, 'i-gpu', seen);
    await runScript(driver, 'i-gpu', '! echo 1 >/usr/local/vgpu/libvgpu.so');
    await driver.stopInstance('i-gpu');
    await driver.updateInstance(createSpec('i-gpu'));
    await driver.startInstance('i-gpu');
    await runScript(
      driver,
      'i-gpu',
      'test -z "$CUDA_DEVICE_SM_LIMIT" && ! test -s /usr/local/vgpu/libvgpu.so',
    );
  });

  it('works over TLS with the certificates of both sides pinned', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'egs-tls-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const port = await findFreePort();
    const [certificateFile, keyFile] = [`${directory}/client.crt`, `${directory}/client.key`];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1', '-nodes', '-subj', '/CN=egs'];
    await execFile('openssl', [
      'req',
      '-x509',
      ...curve,
      '-keyout',
      keyFile,
      '-out',
      certificateFile,
      '-days',
      '1',
    ]);
    const clientCertificate = await readFile(certificateFile, 'utf8');
    const clientKey = await readFile(keyFile, 'utf8');
    const local = new EngineClient({ kind: 'unix', socketPath: engine.socketPath });
    onTestFinished(() => local.close());
    await local.call('PATCH', '/1.0', { body: { config: { 'core.https_address': `127.0.0.1:${port}` } } });
    onTestFinished(async () => {
      await local.call('PATCH', '/1.0', { body: { config: { 'core.https_address': '' } } });
    });
    const certificate = new X509Certificate(clientCertificate).raw.toString('base64');
    await local.call('POST', '/1.0/certificates', { body: { type: 'client', name: 'egs', certificate } });
    const server = await local.call<{ environment: { certificate: string } }>('GET', '/1.0');
    const serverCertificate = server.metadata.environment.certificate;

    const url = `https://127.0.0.1:${port}`;
    const options = {
      hostId: 'host-2' as HostId,
      project: engine.project,
      pool: engine.pool,
      cloud: 'contract',
    };
    const endpoint = { kind: 'https', url, clientCertificate, clientKey, serverCertificate } as const;
    const driver = await LxdComputeDriver.connect({ ...options, endpoint });
    onTestFinished(async () => {
      await driver.deleteInstance('i-tls');
      await driver.close();
    });
    const resynced = new Promise((resolve) => driver.watch((event) => resolve(event.type)));
    expect(await resynced).toBe('resync');
    await driver.createInstance(createSpec('i-tls'));
    await driver.startInstance('i-tls');
    expect(await readOutput(driver, 'i-tls', 'echo over TLS')).toBe('over TLS\n');

    const stranger = { ...endpoint, serverCertificate: clientCertificate };
    await expect(LxdComputeDriver.connect({ ...options, endpoint: stranger })).rejects.toMatchObject({
      reason: 'unavailable',
    });
  });

  it('gives the guest its identity at every boot and leaves what the owner changed', async () => {
    const driver = await setUp('i-seed');
    const seed = {
      instanceId: 'i-seed',
      hostName: 'first',
      authorizedKeys: ['ssh-ed25519 AAAAone a', 'ssh-rsa AAAAtwo'],
    };
    const spec = createSpec('i-seed', { seed });
    await driver.createInstance(spec);
    await driver.startInstance('i-seed');
    await waitForSsh(driver, 'i-seed');
    expect(await readOutput(driver, 'i-seed', 'hostname; cat /etc/hostname; getent hosts first')).toMatch(
      /^first\nfirst\n127\.0\.1\.1 +first\n$/,
    );
    expect(
      await readOutput(driver, 'i-seed', 'cat /root/.ssh/authorized_keys; stat -c %a /etc/egs/seed'),
    ).toMatch(/ssh-ed25519 AAAAone a\nssh-rsa AAAAtwo\n# end[^\n]*\n600\n$/);
    const keysBefore = await readOutput(driver, 'i-seed', 'cat /etc/ssh/ssh_host_*_key.pub /etc/machine-id');
    expect(await readOutput(driver, 'i-seed', 'sshd -T | grep -E "^(passwordauth|permitroot)"')).toBe(
      'permitrootlogin without-password\npasswordauthentication no\n',
    );
    await runScript(
      driver,
      'i-seed',
      'echo "ssh-rsa AAAAhand" >>/root/.ssh/authorized_keys; echo by-hand >/etc/hostname',
    );
    await driver.stopInstance('i-seed', { graceTimeoutMs: 20_000 });

    const passwordHash = `$6$salt$${'x'.repeat(86)}`;
    await driver.updateInstance({
      ...spec,
      seed: { ...seed, authorizedKeys: ['ssh-rsa AAAAthree'], passwordHash },
    });
    await driver.startInstance('i-seed');
    await waitForSsh(driver, 'i-seed');
    const after = await readOutput(
      driver,
      'i-seed',
      'hostname; cat /root/.ssh/authorized_keys; grep ^root /etc/shadow',
    );
    expect(after).toContain('by-hand\n');
    expect(after).toContain('ssh-rsa AAAAthree\n');
    expect(after).toContain('ssh-rsa AAAAhand\n');
    expect(after).not.toContain('AAAAone');
    expect(after).toContain(`root:${passwordHash}:`);
    expect(await readOutput(driver, 'i-seed', 'cat /etc/ssh/ssh_host_*_key.pub /etc/machine-id')).toBe(
      keysBefore,
    );
    expect(await readOutput(driver, 'i-seed', 'sshd -T | grep ^passwordauth')).toBe(
      'passwordauthentication yes\n',
    );

    await driver.stopInstance('i-seed');
    await driver.updateInstance({ ...spec, seed: { ...seed, hostName: 'second' } });
    await driver.startInstance('i-seed');
    await waitForSsh(driver, 'i-seed');
    expect(await readOutput(driver, 'i-seed', 'hostname; grep -c AAAA /root/.ssh/authorized_keys')).toBe(
      'second\n3\n',
    );
  });

  it('runs user data once, packed as it is, beside SSH, and cloud-init can be waited for', async () => {
    const driver = await setUp('i-data');
    const userData = '#!/bin/sh\necho "run by $(id -un)" >>/root/user-data-ran\n';
    const userDataBase64 = gzipSync(userData).toString('base64');
    const seed = { instanceId: 'i-data', hostName: 'data', authorizedKeys: [], userDataBase64 };
    await driver.createInstance(createSpec('i-data', { seed }));
    const read = () =>
      readOutput(
        driver,
        'i-data',
        'cloud-init status --wait; cloud-init query cloud_name; cat /root/user-data-ran',
      );
    for (let boot = 0; boot < 2; boot += 1) {
      await driver.startInstance('i-data');
      await waitForSsh(driver, 'i-data');
      expect(await read()).toMatch(/status: done\naliyun\nrun by root\n$/);
      await driver.stopInstance('i-data');
    }
  });

  it('logs in by key and by password over a network with DHCP, also by a card that came later', async () => {
    const network = await createTestNetwork();
    const driver = await setUp('i-net');
    const keyFile = `${network.directory}/key`;
    await execFile('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile]);
    const publicKey = await readFile(`${keyFile}.pub`, 'utf8');
    const { stdout: passwordHash } = await execFile('openssl', ['passwd', '-6', '-salt', 'salt', 'Secret-1']);
    const seed = {
      instanceId: 'i-net',
      hostName: 'net',
      authorizedKeys: [publicKey],
      passwordHash: passwordHash.trim(),
    };
    const spec = createSpec('i-net', { seed, nics: [network.nics[0]] });
    await driver.createInstance(spec);
    await driver.startInstance('i-net');
    expect(await network.ssh(0, ['-i', keyFile, '-o', 'BatchMode=yes'], {})).toBe('net\n');
    const askPassword = `${network.directory}/ask`;
    await writeFile(askPassword, '#!/bin/sh\necho Secret-1\n', { mode: 0o700 });
    const password = { SSH_ASKPASS: askPassword, SSH_ASKPASS_REQUIRE: 'force' };
    expect(await network.ssh(0, ['-o', 'PubkeyAuthentication=no'], password)).toBe('net\n');
    expect(await readOutput(driver, 'i-net', 'cat /etc/resolv.conf')).toBe('nameserver 10.213.0.1\n');

    await driver.updateInstance({ ...spec, nics: network.nics });
    expect(await network.ssh(1, ['-i', keyFile, '-o', 'BatchMode=yes'], {})).toBe('net\n');
    expect(await readOutput(driver, 'i-net', 'ip route show table 101; ip rule show priority 101')).toMatch(
      /^default via 10\.213\.1\.1 dev eth1 \n10\.213\.1\.0\/24 dev eth1 .*\n101:\tfrom 10\.213\.1\.10 lookup 101\n$/,
    );
    await driver.updateInstance(spec);
    expect(await network.ssh(0, ['-i', keyFile, '-o', 'BatchMode=yes'], {})).toBe('net\n');
    expect(await readOutput(driver, 'i-net', 'ls /sys/class/net')).toBe('eth0\nlo\n');
  });
});

async function runScript(driver: ComputeDriver, name: string, script: string): Promise<void> {
  const { exitCode } = await driver.exec(name, { command: ['/bin/sh', '-c', script] });
  if (exitCode !== 0) throw new Error(`The script ended with ${exitCode}: ${script}`);
}

/** Starts a program that keeps its memory as long as the instance runs; returns when it has it. */
function holdMemory(driver: ComputeDriver, name: string, memoryMiB: number): Promise<void> {
  const program = `import time; held = bytes(b"x" * (${memoryMiB} << 20)); print("held", flush=True); time.sleep(600)`;
  return new Promise((resolve, reject) => {
    driver.exec(name, { command: ['python3', '-c', program], onOutput: () => resolve() }).catch(reject);
  });
}

async function readOutput(driver: ComputeDriver, name: string, script: string): Promise<string> {
  let output = '';
  await driver.exec(name, {
    command: ['/bin/sh', '-c', script],
    onOutput: (_stream, chunk) => {
      output += Buffer.from(chunk).toString();
    },
  });
  return output;
}

/** Returns when the guest's SSH server runs, which the seed's service comes before. */
async function waitForSsh(driver: ComputeDriver, name: string): Promise<void> {
  await vi.waitFor(() => runScript(driver, name, 'systemctl is-active --quiet ssh'), {
    timeout: 20_000,
    interval: 50,
  });
}

/** Two bridges with a DHCP server on each, for one instance with two cards. Removed when the test is over. */
async function createTestNetwork() {
  const id = randomBytes(3).toString('hex');
  const directory = await mkdtemp(join(tmpdir(), 'egs-network-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const createNic = async (index: number): Promise<InstanceNic> => {
    const bridge = `egst${id}${index}`;
    const subnet = `10.213.${index}`;
    const macAddress = `00:16:3e:${id.slice(0, 2)}:${id.slice(2, 4)}:0${index}`;
    await execFile('ip', ['link', 'add', bridge, 'type', 'bridge']);
    onTestFinished(async () => void (await execFile('ip', ['link', 'delete', bridge])));
    await execFile('ip', ['address', 'add', `${subnet}.1/24`, 'dev', bridge]);
    await execFile('ip', ['link', 'set', bridge, 'up']);
    const server = spawn('dnsmasq', [
      '--keep-in-foreground',
      '--conf-file=/dev/null',
      `--interface=${bridge}`,
      '--bind-interfaces',
      '--except-interface=lo',
      '--dhcp-authoritative',
      `--dhcp-range=${subnet}.0,static`,
      `--dhcp-host=${macAddress},${subnet}.10`,
      `--dhcp-leasefile=${directory}/leases${index}`,
      '--pid-file=',
      '--no-resolv',
      '--no-hosts',
    ]);
    onTestFinished(() => void server.kill());
    return { device: `eth${index}`, bridge, macAddress, hostDevice: `egse${id}${index}` };
  };
  const nics = [await createNic(0), await createNic(1)] as const;
  return {
    directory,
    nics,
    /** Logs in as root and gives the host name. */
    ssh: (index: number, sshArguments: string[], environment: Record<string, string>): Promise<string> =>
      vi.waitFor(
        async () => {
          const common = [
            '-o',
            'StrictHostKeyChecking=no',
            '-o',
            'UserKnownHostsFile=/dev/null',
            '-o',
            'ConnectTimeout=2',
          ];
          const { stdout } = await execFile(
            'ssh',
            [...common, ...sshArguments, `root@10.213.${index}.10`, 'hostname'],
            {
              env: { ...process.env, ...environment },
            },
          );
          return stdout;
        },
        { timeout: 20_000, interval: 100 },
      ),
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}
