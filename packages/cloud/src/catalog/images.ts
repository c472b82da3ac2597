import type { InstanceKind } from '../drivers/compute/driver.js';

/** An image that every account sees. */
export interface PublicImage {
  readonly id: string;
  /** Name of the image on the hosts. */
  readonly alias: string;
  readonly family: string;
  readonly name: string;
  readonly description: string;
  readonly osName: string;
  readonly osNameEn: string;
  readonly osType: 'linux';
  readonly platform: string;
  readonly architecture: 'x86_64' | 'arm64';
  readonly sizeGiB: number;
  readonly creationTime: string;
  readonly instanceKinds: readonly InstanceKind[];
}

export const publicImages: readonly PublicImage[] = [
  {
    id: 'debian_12_x64_egs',
    alias: 'debian_12_x64_egs',
    family: 'openegs:debian_12',
    name: 'debian_12_x64_egs',
    description: 'Debian 12 with SSH and cloud-init, built on the host by OpenEGS.',
    osName: 'Debian 12 64位',
    osNameEn: 'Debian 12 64 bit',
    osType: 'linux',
    platform: 'Debian',
    architecture: 'x86_64',
    sizeGiB: 1,
    creationTime: '2026-11-30T00:00:00Z',
    instanceKinds: ['container'],
  },
];
