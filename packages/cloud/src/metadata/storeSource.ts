import type { CloudParts } from '../cloud.js';
import { groupBy } from '../domain/collections.js';
import type { InstanceId } from '../domain/ids.js';
import { findFabricIndex } from '../domain/network/addresses.js';
import type { Instance } from '../store/tables.js';
import { readTags } from '../store/tags.js';
import type { DiskMetadata, InstanceMetadata, InterfaceMetadata, MetadataSource } from './source.js';

/** Looks instances up in the cloud's state: one indexed query for the caller, one for what it asks. */
export class StoreMetadataSource implements MetadataSource {
  constructor(private readonly parts: Pick<CloudParts, 'store' | 'catalog' | 'config'>) {}

  async findCaller(fabricAddress: string): Promise<InstanceMetadata | undefined> {
    const { store, catalog, config } = this.parts;
    const fabricIndex = findFabricIndex(config.network.fabricCidr, fabricAddress);
    if (fabricIndex === undefined) return undefined;
    const instance = await store.reader
      .selectFrom('networkInterfaces as nic')
      .innerJoin('instances as instance', 'instance.id', 'nic.instanceId')
      .selectAll('instance')
      .select((eb) =>
        eb
          .selectFrom('eips')
          .innerJoin('networkInterfaces as primary', 'primary.id', 'eips.networkInterfaceId')
          .select('eips.address')
          .whereRef('primary.instanceId', '=', 'instance.id')
          .where('primary.type', '=', 'Primary')
          .where('eips.status', '<>', 'Unassociating')
          .as('publicAddress'),
      )
      .where('nic.fabricIndex', '=', fabricIndex)
      .where('instance.status', '<>', 'Deleted')
      .executeTakeFirst();
    if (!instance) return undefined;
    const bandwidthKbits = catalog.instanceTypes.get(instance.instanceType)?.bandwidthKbps;
    return {
      id: instance.id,
      accountId: instance.accountId,
      regionId: instance.regionId,
      zoneId: instance.zoneId,
      name: instance.name,
      hostName: instance.hostName,
      instanceType: instance.instanceType,
      imageId: instance.imageId,
      serialNumber: instance.serialNumber,
      options: {
        endpoint: instance.httpEndpoint === 'disabled' ? 'disabled' : 'enabled',
        tokens: instance.httpTokens === 'required' ? 'required' : 'optional',
        putResponseHopLimit: instance.httpPutResponseHopLimit,
      },
      ...(instance.userData === null ? {} : { userData: Buffer.from(instance.userData, 'base64') }),
      ...(bandwidthKbits === undefined ? {} : { bandwidthKbits }),
      ...(instance.keyPairName === null ? {} : { keyPairName: instance.keyPairName }),
      ...(instance.publicAddress === null ? {} : { publicAddress: instance.publicAddress }),
      interfaces: () => this.readInterfaces(instance.id),
      disks: () => this.readDisks(instance.id),
      tags: async () => (await readTags(store.reader, 'instance', [instance.id])).get(instance.id) ?? [],
      publicKey: () => this.readPublicKey(instance),
    };
  }

  private async readInterfaces(id: InstanceId): Promise<InterfaceMetadata[]> {
    const { reader } = this.parts.store;
    const rows = await reader
      .selectFrom('networkInterfaces as nic')
      .innerJoin('vSwitches as vSwitch', 'vSwitch.id', 'nic.vSwitchId')
      .innerJoin('vpcs as vpc', 'vpc.id', 'nic.vpcId')
      .innerJoin('privateAddresses as address', 'address.networkInterfaceId', 'nic.id')
      .select([
        'nic.id',
        'nic.macAddress',
        'nic.vpcId',
        'vpc.cidrBlock as vpcCidr',
        'nic.vSwitchId',
        'vSwitch.cidrBlock as vSwitchCidr',
        'address.address',
      ])
      .where('nic.instanceId', '=', id)
      .orderBy('nic.deviceIndex')
      .orderBy('address.isPrimary', 'desc')
      .execute();
    return [...groupBy(rows, (row) => row.id).values()].flatMap((group) => {
      const [first] = group;
      if (!first) return [];
      const { address, ...common } = first;
      return [{ ...common, primaryAddress: address, addresses: group.map((row) => row.address) }];
    });
  }

  private async readDisks(id: InstanceId): Promise<DiskMetadata[]> {
    return this.parts.store.reader
      .selectFrom('disks')
      .select(['id', 'name'])
      .where('instanceId', '=', id)
      .orderBy('sequence')
      .execute();
  }

  private async readPublicKey(instance: Instance): Promise<string | undefined> {
    const keyPair = await this.parts.store.reader
      .selectFrom('keyPairs')
      .select('publicKey')
      .where('accountId', '=', instance.accountId)
      .where('regionId', '=', instance.regionId)
      .where('name', '=', instance.keyPairName)
      .executeTakeFirst();
    return keyPair?.publicKey;
  }
}
