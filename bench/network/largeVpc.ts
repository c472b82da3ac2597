import type { NetworkInterfaceId, SecurityGroupId, VpcId, VSwitchId } from '@openegs/cloud/domain/ids';
import type { SecurityGroup, SecurityRule } from '@openegs/cloud/domain/network/security';
import type { VpcNetwork, VpcPort } from '@openegs/cloud/drivers/network/driver';

/** Id with the look of a real one: names on the host are made from its letters. */
function numberedId(prefix: string, number: number): string {
  return `${prefix}-bench${number.toString(36).padStart(15, '0')}`;
}

/** A group with as many ingress rules, each of another port range; every second is open to all sources. */
export function securityGroup(number: number, ruleCount: number): SecurityGroup {
  return {
    id: numberedId('sg', number) as SecurityGroupId,
    type: 'basic',
    innerAccessPolicy: 'accept',
    rules: Array.from({ length: ruleCount }, (_, index) => ingressRule(number, index)),
  };
}

function ingressRule(group: number, index: number): SecurityRule {
  return {
    id: numberedId('sgr', group * 1000 + index) as SecurityRule['id'],
    direction: 'ingress',
    policy: 'accept',
    priority: 1 + (index % 100),
    protocol: index % 2 === 0 ? 'tcp' : 'udp',
    portRange: { first: 1000 + index * 10, last: 1005 + index * 10 },
    peer: { kind: 'cidr', cidr: index % 4 < 2 ? '0.0.0.0/0' : `172.16.${index}.0/24` },
  };
}

/** A port in the bench VPC: the number decides its address and everything else. */
export function port(number: number, groups: readonly SecurityGroup[]): VpcPort {
  const place = number + 10;
  const low = `${Math.floor(place / 256)}.${place % 256}`;
  const hex = (value: number): string => value.toString(16).padStart(2, '0');
  return {
    networkInterfaceId: numberedId('eni', number) as NetworkInterfaceId,
    vSwitchId: numberedId('vsw', 0) as VSwitchId,
    macAddress: `00:16:3e:00:${hex(Math.floor(place / 256))}:${hex(place % 256)}`,
    primaryAddress: `10.20.${low}`,
    secondaryAddresses: [],
    fabricAddress: `100.97.${low}`,
    securityGroupIds: groups.map(({ id }) => id),
    hostName: `host-${number}`,
  };
}

/** One vSwitch with the ports, each in one of the groups by turns. */
export function vpc(groups: readonly SecurityGroup[], portCount: number): VpcNetwork {
  return {
    id: numberedId('vpc', 0) as VpcId,
    index: 0,
    cidrs: ['10.20.0.0/16'],
    vSwitches: [{ id: numberedId('vsw', 0) as VSwitchId, cidr: '10.20.0.0/17', gateway: '10.20.127.253' }],
    ports: Array.from({ length: portCount }, (_, number) =>
      port(number, groups.slice(number % groups.length, (number % groups.length) + 1)),
    ),
    security: { groups, prefixLists: [] },
    routeTables: [],
    eips: [],
    natGateways: [],
    outboundNat: false,
    dnsNames: [],
  };
}
