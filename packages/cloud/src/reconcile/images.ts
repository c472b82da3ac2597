import type { Logger } from 'pino';
import type { CloudParts } from '../cloud.js';
import type { FaultPoints } from '../domain/faults.js';
import type { HostId, ImageId } from '../domain/ids.js';
import { type ComputeDriver, ComputeError } from '../drivers/compute/driver.js';
import type { Transaction } from '../store/store.js';
import type { Image } from '../store/tables.js';

const actor = { name: 'image-loop' };

export interface ImageLoopOptions {
  readonly parts: CloudParts;
  readonly computeDrivers: ReadonlyMap<HostId, ComputeDriver>;
  readonly faults: FaultPoints;
  readonly log: Logger;
}

/** Makes custom images of instances, and removes them, one idempotent attempt at a time. */
export class ImageLoop {
  constructor(private readonly options: ImageLoopOptions) {}

  async reconcile(id: ImageId): Promise<void> {
    const image = await this.options.parts.store.reader
      .selectFrom('images')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    if (image?.status === 'Creating') await this.create(image);
    if (image?.status === 'Deleted') await this.remove(image);
  }

  private async create(image: Image): Promise<void> {
    const { faults, log } = this.options;
    let status: Image['status'] = 'Available';
    try {
      await this.driverOf(image.hostId).createImage(image.id, image.instanceId);
      faults.reach('image.createdOnHost');
    } catch (error) {
      const isFinal =
        error instanceof ComputeError && ['refused', 'no-space', 'not-found'].includes(error.reason);
      if (!isFinal) throw error;
      log.error({ err: error, imageId: image.id }, 'image could not be created');
      status = 'CreateFailed';
    }
    await this.transaction(async (tx) => {
      await tx.db
        .updateTable('images')
        .set({ status })
        .where('id', '=', image.id)
        .where('status', '=', 'Creating')
        .execute();
      await tx.record({
        resourceType: 'image',
        resourceId: image.id,
        action: status === 'Available' ? 'Created' : 'CreationFailed',
      });
    });
    faults.reach('image.createdInStore');
  }

  private async remove(image: Image): Promise<void> {
    const { faults } = this.options;
    await this.driverOf(image.hostId).deleteImage(image.id);
    faults.reach('image.deletedOnHost');
    await this.transaction(async (tx) => {
      await tx.db.deleteFrom('images').where('id', '=', image.id).execute();
      await tx.record({ resourceType: 'image', resourceId: image.id, action: 'Released' });
    });
    faults.reach('image.deletedInStore');
  }

  private transaction(work: (tx: Transaction) => Promise<void>): Promise<void> {
    return this.options.parts.store.transaction(actor, work, 'derived');
  }

  private driverOf(hostId: HostId): ComputeDriver {
    const driver = this.options.computeDrivers.get(hostId);
    if (!driver) throw new ComputeError('unavailable', `host ${hostId} is not configured`);
    return driver;
  }
}
