import { randomUUID } from 'node:crypto';
import * as Ecs from '@alicloud/ecs20140526';
import { expect, vi } from 'vitest';
import type { CrashingCloud } from './crashScenario.js';

const regionId = 'cn-hangzhou';
const waiting = { timeout: 60_000, interval: 20 };

/** Makes an image of an instance and deletes it again, on a cloud that dies somewhere on the way. */
export async function makeAndDeleteImage(cloud: CrashingCloud, instanceId: string): Promise<void> {
  const clientToken = randomUUID();
  const { body } = await cloud.call(({ ecs }) =>
    ecs.createImage(new Ecs.CreateImageRequest({ regionId, instanceId, clientToken })),
  );
  const imageId = body?.imageId ?? '';
  const list = async () => {
    const images = await cloud.call(({ ecs }) =>
      ecs.describeImages(
        new Ecs.DescribeImagesRequest({ regionId, imageId, status: 'Creating,CreateFailed,Available' }),
      ),
    );
    return images.body?.images?.image ?? [];
  };
  await vi.waitFor(async () => expect(await list()).toMatchObject([{ status: 'Available' }]), waiting);
  await cloud
    .call(({ ecs }) => ecs.deleteImage(new Ecs.DeleteImageRequest({ regionId, imageId })))
    .catch((error: { code?: string }) => {
      // The first try was carried out before its answer was lost.
      if (error.code !== 'InvalidImageId.NotFound') throw error;
    });
  expect(await list()).toEqual([]);
}
