import { createHash } from 'node:crypto';
import type { NetworkInterfaceId, VpcId, VSwitchId } from '../ids.js';

/** Characters of a tag: it leads every name that a cloud gives to a thing on a host. */
const tagLength = 4;

/** A kernel interface name holds 15 characters: tag, one letter for the kind, and this many of a hash. */
const hashLength = 10;

function shortHash(text: string, length: number): string {
  const number = BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
  return number.toString(36).padStart(length, '0').slice(-length);
}

/**
 * The tag of a cloud, from any text that tells it from other clouds on the same machine (such as its
 * data directory). Starts with a letter: nft wants that of table names.
 */
export function cloudTag(cloudIdentity: string): string {
  return `e${shortHash(cloudIdentity, tagLength - 1)}`;
}

/**
 * How a cloud names its network devices on a host. The names follow from the ids alone, so that every
 * part computes the same ones and a restart finds them again; the tag keeps two clouds apart.
 */
export class NetworkNames {
  constructor(readonly tag: string) {
    if (!/^[a-z][a-z0-9]{3}$/.test(tag)) throw new Error(`not a tag of four characters: ${tag}`);
  }

  /** Bridge of a vSwitch in the host's namespace, into which instances are plugged. */
  bridge(id: VSwitchId): string {
    return this.device('b', id);
  }

  /** Host side of a network interface's veth (`host_name` of the engine's NIC). */
  hostDevice(id: NetworkInterfaceId): string {
    return this.device('p', id);
  }

  /** What the names of all host devices of network interfaces begin with. */
  get hostDevicePrefix(): string {
    return `${this.tag}p`;
  }

  /** Port of the VPC's router on the bridge of a vSwitch, in the host's namespace. */
  routerPort(id: VSwitchId): string {
    return this.device('r', id);
  }

  /** The router's own interface in a vSwitch, inside the VPC's namespace. */
  routerInterface(id: VSwitchId): string {
    return `s${shortHash(id, hashLength)}`;
  }

  /** Host side of the link between a VPC's router and the host. */
  uplink(id: VpcId): string {
    return this.device('u', id);
  }

  /** What the names of all uplinks begin with. */
  get uplinkPrefix(): string {
    return `${this.tag}u`;
  }

  /** Network namespace of a VPC; holds the whole id, so that a listing tells which VPCs a host has. */
  namespace(id: VpcId): string {
    return `${this.tag}-${id}`;
  }

  /** What the names of all namespaces begin with. */
  get namespacePrefix(): string {
    return `${this.tag}-`;
  }

  private device(kind: string, id: string): string {
    return `${this.tag}${kind}${shortHash(id, hashLength)}`;
  }
}
