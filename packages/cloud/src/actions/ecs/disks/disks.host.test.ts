import * as Ecs from '@alicloud/ecs20140526';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Clients, connectClients } from '../../../testing/clients.js';
import { DiskFixture } from '../../../testing/diskFixture.js';
import { HostCloud } from '../../../testing/hostCloud.js';
import { VpcFixture } from '../../../testing/vpcFixture.js';

vi.setConfig({ testTimeout: 180_000 });

const isRoot = process.getuid?.() === 0;
if (!isRoot && process.env['CI'] === 'true') throw new Error('The tests of disks need root');

describe.skipIf(!isRoot)(`disks of real instances${isRoot ? '' : ' (left out: needs root)'}`, () => {
  let host: HostCloud;
  let clients: Clients;
  let disks: DiskFixture;
  let first: string;
  let second: string;

  beforeAll(async () => {
    host = await HostCloud.start();
    clients = connectClients(host.cloud);
    const vpc = await VpcFixture.create(clients);
    const idle = () => host.cloud.reconciler.idle();
    disks = new DiskFixture({ ecs: clients.ecs, idle }, host.compute);
    first = await vpc.runInstance({
      dataDisk: [
        new Ecs.RunInstancesRequestDataDisk({ category: 'cloud_essd', performanceLevel: 'PL0', size: 1 }),
      ],
    });
    second = await vpc.runInstance();
    await idle();
  }, 300_000);
  afterAll(() => host?.stop(), 120_000);

  /** Runs a script in an instance that must end well; answers with what it prints. */
  async function inside(id: string, script: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    const { exitCode } = await host.compute.exec(id, {
      command: ['/bin/sh', '-c', script],
      onOutput: (_stream, chunk) => void chunks.push(chunk),
    });
    const output = Buffer.concat(chunks).toString().trim();
    if (exitCode !== 0) throw new Error(`${script} ended with ${exitCode}: ${output}`);
    return output;
  }

  const createSmall = (): Promise<string> => disks.create({ performanceLevel: 'PL0', size: 1 });
  const sum = (directory: string): string => `cd ${directory} && find . -type f | sort | xargs sha256sum`;
  /** Writes files of random content, of two owners; gives their sums. */
  const fill = (id: string, directory: string): Promise<string> =>
    inside(
      id,
      `cd ${directory} && for n in $(seq 20); do head -c 1000000 /dev/urandom >file$n; done && chown 1000:1000 file1 && sync && ${sum('.')}`,
    );

  it('come with an instance as a file system of their own, and are there after a reboot', async () => {
    const [disk] = await disks.list({ instanceId: first, diskType: 'data' });
    const directory = `/mnt/${disk?.diskId}`;
    expect(await inside(first, `mountpoint ${directory}`)).toContain('is a mountpoint');
    const sums = await fill(first, directory);
    await clients.ecs.rebootInstance(new Ecs.RebootInstanceRequest({ instanceId: first }));
    await host.cloud.reconciler.idle();
    expect(await inside(first, sum(directory))).toBe(sums);
  });

  it('keep content and owners over detach under use, another instance, snapshot and roll-back', async () => {
    const id = await createSmall();
    const directory = `/mnt/${id}`;
    await disks.attach(id, first);
    const sums = await fill(first, directory);
    const snapshot = await disks.snapshot(id);
    // A shell that stands in it does not hold the disk back.
    await inside(first, `cd ${directory} && (setsid sleep 600 >/dev/null 2>&1 &)`);
    await disks.detach(id, first);
    await disks.attach(id, second);
    expect(await inside(second, sum(directory))).toBe(sums);
    expect(await inside(second, `stat -c %u:%g ${directory}/file1 ${directory}/file2`)).toBe(
      '1000:1000\n0:0',
    );
    await inside(second, `rm ${directory}/file1 && echo changed >${directory}/file2`);
    await disks.stop(second);
    await clients.ecs.resetDisk(new Ecs.ResetDiskRequest({ diskId: id, snapshotId: snapshot }));
    await host.cloud.reconciler.idle();
    expect(await disks.show(id)).toMatchObject({ status: 'In_use' });
    await disks.start(second);
    expect(await inside(second, sum(directory))).toBe(sums);
    expect(await inside(second, `stat -c %u:%g ${directory}/file1 ${directory}/file2`)).toBe(
      '1000:1000\n0:0',
    );
  });

  it('hold to their size, grow under use, and block nothing when they are full', async () => {
    const id = await createSmall();
    await disks.attach(id, first);
    await inside(first, `cat /dev/zero >/mnt/${id}/filler; sync; true`);
    await expect(inside(first, `head -c 10000000 /dev/zero >/mnt/${id}/more && sync`)).rejects.toThrow();
    await disks.stop(first);
    await disks.start(first);
    await clients.ecs.resizeDisk(new Ecs.ResizeDiskRequest({ diskId: id, newSize: 2, type: 'online' }));
    await host.cloud.reconciler.idle();
    await inside(first, `head -c 10000000 /dev/urandom >/mnt/${id}/more && sync`);
    await disks.detach(id, first);
    await clients.ecs.deleteDisk(new Ecs.DeleteDiskRequest({ diskId: id }));
    await host.cloud.reconciler.idle();
    expect(await disks.listVolumes()).not.toContain(id);
  });
});
