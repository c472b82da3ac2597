import { randomUUID } from 'node:crypto';
import * as Ecs from '@alicloud/ecs20140526';
import { expect, vi } from 'vitest';
import type { CrashingCloud } from './crashScenario.js';

const regionId = 'cn-hangzhou';
const waiting = { timeout: 60_000, interval: 20 };

/**
 * A data disk of an instance on a cloud that dies somewhere on the way: what was written, and acknowledged
 * as a snapshot, is there whatever happens.
 */
export class CrashDisks {
  private diskId = '';
  private snapshotId = '';

  constructor(
    private readonly cloud: CrashingCloud,
    private readonly instanceId: string,
  ) {}

  /** While the instance runs: a disk with a snapshot, grown and changed since. */
  async fill(): Promise<void> {
    this.diskId = await this.create({ size: 20 });
    await this.attach(this.diskId);
    await this.write('kept');
    this.snapshotId = await this.snapshot();
    const { diskId } = this;
    await this.ask(['InvalidDiskSize.TooSmall'], () =>
      this.cloud.call(({ ecs }) => ecs.resizeDisk(new Ecs.ResizeDiskRequest({ diskId, newSize: 30 }))),
    );
    await this.write('lost');
  }

  /** While the instance is stopped: the snapshot is put back. */
  async reset(): Promise<void> {
    const { diskId, snapshotId } = this;
    await this.ask(['IncorrectDiskStatus'], () =>
      this.cloud.call(({ ecs }) => ecs.resetDisk(new Ecs.ResetDiskRequest({ diskId, snapshotId }))),
    );
    await this.waitForDisk(diskId, { status: 'In_use', size: 30 });
  }

  /** While the instance runs again: the data is there, also on a new disk; all goes in the end. */
  async checkAndRemove(): Promise<void> {
    const { diskId, snapshotId, instanceId } = this;
    expect(await this.read(diskId)).toBe('kept');
    const copy = await this.create({ snapshotId });
    await this.attach(copy, true);
    expect(await this.read(copy)).toBe('kept');
    await this.ask(['IncorrectDiskStatus'], () =>
      this.cloud.call(({ ecs }) => ecs.detachDisk(new Ecs.DetachDiskRequest({ diskId, instanceId }))),
    );
    await this.waitForDisk(diskId, { status: 'Available' });
    await this.ask(['InvalidDiskId.NotFound'], () =>
      this.cloud.call(({ ecs }) => ecs.deleteDisk(new Ecs.DeleteDiskRequest({ diskId }))),
    );
    await this.ask(['InvalidSnapshotId.NotFound'], () =>
      this.cloud.call(({ ecs }) =>
        ecs.deleteSnapshot(new Ecs.DeleteSnapshotRequest({ snapshotId, force: true })),
      ),
    );
  }

  /** Sends a request that may have been carried out already, when its answer was lost. */
  private async ask(doneCodes: readonly string[], request: () => Promise<unknown>): Promise<void> {
    await request().catch((error: { code?: string }) => {
      if (!doneCodes.includes(error.code ?? '')) throw error;
    });
  }

  private async create(request: { size?: number; snapshotId?: string }): Promise<string> {
    const clientToken = randomUUID();
    const { body } = await this.cloud.call(({ ecs }) =>
      ecs.createDisk(
        new Ecs.CreateDiskRequest({
          regionId,
          zoneId: 'cn-hangzhou-a',
          diskCategory: 'cloud_essd',
          clientToken,
          ...request,
        }),
      ),
    );
    const id = body?.diskId ?? '';
    await this.waitForDisk(id, { status: 'Available' });
    return id;
  }

  private async attach(diskId: string, deleteWithInstance = false): Promise<void> {
    const { instanceId } = this;
    await this.ask(['InvalidDisk.InUse', 'IncorrectDiskStatus'], () =>
      this.cloud.call(({ ecs }) =>
        ecs.attachDisk(new Ecs.AttachDiskRequest({ diskId, instanceId, deleteWithInstance })),
      ),
    );
    await this.waitForDisk(diskId, { status: 'In_use', instanceId });
  }

  private async snapshot(): Promise<string> {
    const { diskId } = this;
    const clientToken = randomUUID();
    const { body } = await this.cloud.call(({ ecs }) =>
      ecs.createSnapshot(new Ecs.CreateSnapshotRequest({ diskId, clientToken })),
    );
    const id = body?.snapshotId ?? '';
    await vi.waitFor(async () => {
      const snapshots = await this.cloud.call(({ ecs }) =>
        ecs.describeSnapshots(
          new Ecs.DescribeSnapshotsRequest({ regionId, snapshotIds: JSON.stringify([id]) }),
        ),
      );
      expect(snapshots.body?.snapshots?.snapshot).toMatchObject([{ status: 'accomplished' }]);
    }, waiting);
    return id;
  }

  private async waitForDisk(id: string, wished: Record<string, unknown>): Promise<void> {
    await vi.waitFor(async () => {
      const { body } = await this.cloud.call(({ ecs }) =>
        ecs.describeDisks(new Ecs.DescribeDisksRequest({ regionId, diskIds: JSON.stringify([id]) })),
      );
      expect(body?.disks?.disk).toMatchObject([wished]);
    }, waiting);
  }

  /** Writes, again when the cloud died over it: a file is sent at most once. */
  private async write(content: string): Promise<void> {
    const targetDir = `/mnt/${this.diskId}`;
    await vi.waitFor(async () => {
      const { body } = await this.cloud.call(({ ecs }) =>
        ecs.sendFile(
          new Ecs.SendFileRequest({
            regionId,
            name: 'data',
            targetDir,
            content,
            overwrite: true,
            instanceId: [this.instanceId],
          }),
        ),
      );
      expect(await this.waitForResult(body?.invokeId ?? '', true)).toMatchObject({ status: 'Success' });
    }, waiting);
  }

  private async read(diskId: string): Promise<string> {
    return vi.waitFor(async () => {
      const { body } = await this.cloud.call(({ ecs }) =>
        ecs.runCommand(
          new Ecs.RunCommandRequest({
            regionId,
            type: 'RunShellScript',
            commandContent: `cat /mnt/${diskId}/data`,
            instanceId: [this.instanceId],
          }),
        ),
      );
      const result = await this.waitForResult(body?.invokeId ?? '', false);
      expect(result).toMatchObject({ status: 'Success' });
      return Buffer.from(result.output, 'base64').toString();
    }, waiting);
  }

  private async waitForResult(
    invokeId: string,
    isFile: boolean,
  ): Promise<{ readonly status: string; readonly output: string }> {
    return vi.waitFor(async () => {
      const [result] = await this.cloud.call(async ({ ecs }) => {
        if (isFile) {
          const { body } = await ecs.describeSendFileResults(
            new Ecs.DescribeSendFileResultsRequest({ regionId, invokeId }),
          );
          const [invocation] = body?.invocations?.invocation ?? [];
          return (invocation?.invokeInstances?.invokeInstance ?? []).map((each) => ({
            status: each.invocationStatus ?? '',
            output: '',
          }));
        }
        const { body } = await ecs.describeInvocationResults(
          new Ecs.DescribeInvocationResultsRequest({ regionId, invokeId }),
        );
        return (body?.invocation?.invocationResults?.invocationResult ?? []).map((each) => ({
          status: each.invocationStatus ?? '',
          output: each.output ?? '',
        }));
      });
      if (!result || ['Pending', 'Running'].includes(result.status)) throw new Error('not yet');
      return result;
    }, waiting);
  }
}
