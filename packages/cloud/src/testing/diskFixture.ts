import * as Ecs from '@alicloud/ecs20140526';
import { expect } from 'vitest';
import type { ComputeDriver } from '../drivers/compute/driver.js';
import type { Clients } from './clients.js';

const regionId = 'cn-hangzhou';
const attributes = { mode: 0o600, userId: 0, groupId: 0 };

/** Disks and snapshots through the API, and the data on them behind it. */
export class DiskFixture {
  constructor(
    readonly cloud: Pick<Clients, 'ecs'> & { readonly idle: () => Promise<void> },
    readonly compute: ComputeDriver,
    readonly zoneId = 'cn-hangzhou-a',
  ) {}

  async create(request: Partial<Ecs.CreateDiskRequest> = {}): Promise<string> {
    const { body } = await this.cloud.ecs.createDisk(
      new Ecs.CreateDiskRequest({
        regionId,
        zoneId: this.zoneId,
        diskCategory: 'cloud_essd',
        size: 20,
        ...request,
      }),
    );
    return body?.diskId ?? '';
  }

  async list(request: Partial<Ecs.DescribeDisksRequest> = {}) {
    const { body } = await this.cloud.ecs.describeDisks(
      new Ecs.DescribeDisksRequest({ regionId, ...request }),
    );
    return body?.disks?.disk ?? [];
  }

  async show(id: string) {
    const [disk] = await this.list({ diskIds: JSON.stringify([id]) });
    return disk;
  }

  async attach(
    diskId: string,
    instanceId: string,
    request: Partial<Ecs.AttachDiskRequest> = {},
  ): Promise<void> {
    await this.cloud.ecs.attachDisk(new Ecs.AttachDiskRequest({ diskId, instanceId, ...request }));
    await this.cloud.idle();
    expect(await this.show(diskId)).toMatchObject({ status: 'In_use', instanceId });
  }

  async detach(diskId: string, instanceId: string): Promise<void> {
    await this.cloud.ecs.detachDisk(new Ecs.DetachDiskRequest({ diskId, instanceId }));
    await this.cloud.idle();
    expect(await this.show(diskId)).toMatchObject({ status: 'Available', instanceId: '' });
  }

  async snapshot(diskId: string, request: Partial<Ecs.CreateSnapshotRequest> = {}): Promise<string> {
    const { body } = await this.cloud.ecs.createSnapshot(
      new Ecs.CreateSnapshotRequest({ diskId, ...request }),
    );
    await this.cloud.idle();
    const id = body?.snapshotId ?? '';
    expect(await this.listSnapshots({ snapshotIds: JSON.stringify([id]) })).toMatchObject([
      { status: 'accomplished', progress: '100%', sourceDiskId: diskId },
    ]);
    return id;
  }

  async listSnapshots(request: Partial<Ecs.DescribeSnapshotsRequest> = {}) {
    const { body } = await this.cloud.ecs.describeSnapshots(
      new Ecs.DescribeSnapshotsRequest({ regionId, ...request }),
    );
    return body?.snapshots?.snapshot ?? [];
  }

  async deleteSnapshot(snapshotId: string, force?: boolean): Promise<void> {
    await this.cloud.ecs.deleteSnapshot(
      new Ecs.DeleteSnapshotRequest({ snapshotId, ...(force === undefined ? {} : { force }) }),
    );
    await this.cloud.idle();
  }

  async stop(instanceId: string): Promise<void> {
    await this.cloud.ecs.stopInstance(new Ecs.StopInstanceRequest({ instanceId, forceStop: true }));
    await this.cloud.idle();
  }

  async start(instanceId: string): Promise<void> {
    await this.cloud.ecs.startInstance(new Ecs.StartInstanceRequest({ instanceId }));
    await this.cloud.idle();
  }

  /** Writes to a disk in an instance that runs. */
  async write(instanceId: string, diskId: string, text: string): Promise<void> {
    await this.compute.writeFile(instanceId, `/mnt/${diskId}/data`, Buffer.from(text), attributes);
  }

  async read(instanceId: string, diskId: string): Promise<string | undefined> {
    const content = await this.compute.readFile(instanceId, `/mnt/${diskId}/data`);
    return content && Buffer.from(content).toString();
  }

  /** Names of all volumes on the host. */
  async listVolumes(): Promise<string[]> {
    return (await this.compute.listVolumes()).map((volume) => volume.name).sort();
  }
}
