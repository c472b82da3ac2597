import { gatewayAddress } from '../domain/network/addresses.js';
import { formatIpv4, parseIpv4Cidr } from '../domain/network/cidr.js';
import { type Directory, directory, type Leaf, leaf } from './directory.js';
import { renderIdentityDocument } from './identity.js';
import type { InstanceMetadata, InterfaceMetadata } from './source.js';

/** Where the routers of all VPCs answer DNS (see the network driver). */
const nameServers = ['100.100.2.136', '100.100.2.138'];
/** Reachable for instances that have a way out; the clock of containers is the host's in any case. */
const ntpServers = ['0.pool.ntp.org', '1.pool.ntp.org', '2.pool.ntp.org'];

/**
 * Everything that an instance is told, by path: the names and forms of the ECS guide "Instance metadata".
 * What the cloud does not have (market place, Windows servers, RAM roles, IPv6) is not there.
 * `sign` answers with the signature of an identity document.
 */
export function renderTree(
  instance: InstanceMetadata,
  audience: string | undefined,
  sign: (document: string) => Promise<string>,
): Directory {
  const version = directory({
    dynamic: directory({
      'instance-identity': directory({
        document: leaf(() => renderIdentityDocument(instance)),
        pkcs7: leaf(async () => sign(await renderIdentityDocument(instance, audience))),
      }),
    }),
    maintenance: directory({ 'active-system-events': leaf('[]') }),
    'meta-data': renderMetaData(instance),
    'user-data': instance.userData && leaf(instance.userData),
    'vendor-data': leaf(''),
  });
  // cloud-init reads the dated tree, everything else the latest one.
  return directory({ '2016-01-01': version, latest: version });
}

function renderMetaData(instance: InstanceMetadata): Directory {
  const { publicAddress, bandwidthKbits, keyPairName } = instance;
  const ofPrimary = (read: (primary: InterfaceMetadata) => string) =>
    leaf(async () => {
      const [primary] = await instance.interfaces();
      return primary ? read(primary) : '';
    });
  return directory({
    disks: {
      list: async () =>
        new Map(
          (await instance.disks()).map(({ id, name }) => [
            // A guest sees this serial number on the device.
            id.replace(/^d-/, ''),
            directory({ id: leaf(id), name: leaf(name) }),
          ]),
        ),
    },
    'dns-conf': directory({ nameservers: leaf(nameServers.join('\n')) }),
    eipv4: publicAddress === undefined ? undefined : leaf(publicAddress),
    hibernation: directory({ configured: leaf('false') }),
    hostname: leaf(instance.hostName),
    'image-id': leaf(instance.imageId),
    instance: directory({
      'instance-name': leaf(instance.name),
      'instance-type': leaf(instance.instanceType),
      'max-netbw-egress': bandwidthKbits === undefined ? undefined : leaf(String(bandwidthKbits)),
      'max-netbw-ingress': bandwidthKbits === undefined ? undefined : leaf(String(bandwidthKbits)),
    }),
    'instance-id': leaf(instance.id),
    mac: ofPrimary(({ macAddress }) => macAddress),
    network: directory({
      interfaces: directory({
        macs: {
          list: async () =>
            new Map((await instance.interfaces()).map((each) => [each.macAddress, renderInterface(each)])),
        },
      }),
    }),
    'network-type': leaf('vpc'),
    'ntp-conf': directory({ 'ntp-servers': leaf(ntpServers.join('\n')) }),
    'owner-account-id': leaf(instance.accountId),
    'private-ipv4': ofPrimary(({ primaryAddress }) => primaryAddress),
    'public-ipv4': publicAddress === undefined ? undefined : leaf(publicAddress),
    'public-keys': keyPairName === undefined ? undefined : renderPublicKeys(instance, keyPairName),
    'region-id': leaf(instance.regionId),
    'serial-number': leaf(instance.serialNumber),
    'sub-private-ipv4-list': ofPrimary(({ addresses }) => addresses.slice(1).join('\n')),
    tags: directory({
      instance: {
        list: () => renderTags(instance, isListable),
        unlisted: () => renderTags(instance, (key) => !isListable(key)),
      },
    }),
    'vpc-cidr-block': ofPrimary(({ vpcCidr }) => vpcCidr),
    'vpc-id': ofPrimary(({ vpcId }) => vpcId),
    'vswitch-cidr-block': ofPrimary(({ vSwitchCidr }) => vSwitchCidr),
    'vswitch-id': ofPrimary(({ vSwitchId }) => vSwitchId),
    'zone-id': leaf(instance.zoneId),
  });
}

function renderInterface(each: InterfaceMetadata): Directory {
  const { first, last } = parseIpv4Cidr(each.vSwitchCidr);
  return directory({
    gateway: leaf(gatewayAddress(each.vSwitchCidr)),
    netmask: leaf(formatIpv4(0xffffffff - (last - first))),
    'network-interface-id': leaf(each.id),
    'primary-ip-address': leaf(each.primaryAddress),
    'private-ipv4s': leaf(JSON.stringify(each.addresses)),
    'vpc-cidr-block': leaf(each.vpcCidr),
    'vpc-id': leaf(each.vpcId),
    'vswitch-cidr-block': leaf(each.vSwitchCidr),
    'vswitch-id': leaf(each.vSwitchId),
  });
}

/** cloud-init would take these keys for something else: a directory, or a name with a title. */
function isListable(key: string): boolean {
  return !/[=\s]|\/$/.test(key);
}

async function renderTags(
  instance: InstanceMetadata,
  isWanted: (key: string) => boolean,
): Promise<ReadonlyMap<string, Leaf>> {
  const tags = (await instance.tags()).filter(({ key }) => isWanted(key));
  return new Map(tags.map(({ key, value }) => [key, leaf(value)]));
}

function renderPublicKeys(instance: InstanceMetadata, keyPairName: string): Directory {
  const key = directory({ 'openssh-key': leaf(async () => (await instance.publicKey()) ?? '') });
  return {
    list: () => new Map([[keyPairName, key]]),
    // Scripts that were written for other clouds count the keys.
    unlisted: () => new Map([['0', key]]),
  };
}
