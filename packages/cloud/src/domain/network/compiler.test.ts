import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createId } from '../ids.js';
import { compileSecurity, type SecurityMember } from './compiler.js';
import { type Packet, passes, passesByTheBook } from './evaluation.js';
import type { PrefixList, SecurityGroup, SecurityRule } from './security.js';

const groupIds = Array.from({ length: 4 }, () => createId('securityGroup', 't'));
const listIds = Array.from({ length: 2 }, () => createId('prefixList', 't'));

// A small world, so that rules, members and packets meet often.
const address = fc.integer({ min: 0, max: 15 }).map((number) => `10.0.0.${number}`);
const port = fc.integer({ min: 1, max: 8 });
const cidr = fc.oneof(
  fc.tuple(address, fc.integer({ min: 27, max: 32 })).map(([base, length]) => `${base}/${length}`),
  fc.constantFrom('0.0.0.0/0', '10.0.0.0/8', '172.16.0.0/12', '::/0', '2001:db8::/32'),
);
const portRange = fc.tuple(port, port).map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) }));

const rule: fc.Arbitrary<SecurityRule> = fc.record(
  {
    id: fc.constant(createId('securityGroupRule', 't')),
    direction: fc.constantFrom('ingress' as const, 'egress' as const),
    policy: fc.constantFrom('accept' as const, 'drop' as const),
    priority: fc.integer({ min: 1, max: 5 }),
    protocol: fc.constantFrom(
      'tcp' as const,
      'udp' as const,
      'icmp' as const,
      'gre' as const,
      'all' as const,
    ),
    portRange,
    sourcePortRange: portRange,
    localCidr: cidr,
    peer: fc.oneof(
      fc.record({ kind: fc.constant('cidr' as const), cidr }),
      fc.record({ kind: fc.constant('group' as const), securityGroupId: fc.constantFrom(...groupIds) }),
      fc.record({ kind: fc.constant('prefixList' as const), prefixListId: fc.constantFrom(...listIds) }),
    ),
  },
  { requiredKeys: ['id', 'direction', 'policy', 'priority', 'protocol', 'peer'] },
);

const groups: fc.Arbitrary<SecurityGroup[]> = fc.tuple(
  ...groupIds.map((id) =>
    fc.record({
      id: fc.constant(id),
      type: fc.constantFrom('basic' as const, 'enterprise' as const),
      innerAccessPolicy: fc.constantFrom('accept' as const, 'drop' as const),
      rules: fc.array(rule, { maxLength: 8 }),
    }),
  ),
);

const prefixLists: fc.Arbitrary<PrefixList[]> = fc.tuple(
  ...listIds.map((id) => fc.record({ id: fc.constant(id), cidrs: fc.array(cidr, { maxLength: 4 }) })),
);

const members: fc.Arbitrary<SecurityMember[]> = fc
  .uniqueArray(address, { minLength: 2, maxLength: 8 })
  .chain((addresses) =>
    fc.tuple(
      ...addresses.map((own) =>
        fc.record({
          networkInterfaceId: fc.constant(createId('networkInterface', 't')),
          primaryAddress: fc.constant(own),
          secondaryAddresses: fc.constant([]),
          securityGroupIds: fc.subarray(groupIds),
        }),
      ),
    ),
  );

const flow = fc.record({
  outside: fc.constantFrom('none', 'source', 'destination'),
  ends: fc.tuple(fc.nat(), fc.nat()),
  far: fc.oneof(address, fc.constantFrom('172.16.5.5', '8.8.8.8')),
  protocol: fc.constantFrom('tcp', 'udp', 'icmp', 'gre', 'sctp'),
  sourcePort: port,
  destinationPort: port,
});

describe('the security group compiler', () => {
  it('gives every packet the verdict of the slow reference', () => {
    fc.assert(
      fc.property(
        groups,
        prefixLists,
        members,
        fc.array(flow, { minLength: 5, maxLength: 40 }),
        (g, lists, all, flows) => {
          const policy = { groups: g, prefixLists: lists };
          const compiled = compileSecurity(policy, all);
          for (const { outside, ends, far, protocol, ...ports } of flows) {
            const [from, to] = ends.map((index) => all[index % all.length]) as [
              SecurityMember,
              SecurityMember,
            ];
            const packet: Packet = {
              source: outside === 'source' ? far : from.primaryAddress,
              destination: outside === 'destination' ? far : to.primaryAddress,
              protocol,
              ...(outside !== 'source' && { from: from.networkInterfaceId }),
              ...(outside !== 'destination' && { to: to.networkInterfaceId }),
              ...((protocol === 'tcp' || protocol === 'udp') && ports),
            };
            expect(passes(compiled, packet)).toBe(passesByTheBook(policy, all, packet));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  const [web, db] = groupIds as [(typeof groupIds)[0], (typeof groupIds)[0]];
  const member = (own: string, ...securityGroupIds: SecurityMember['securityGroupIds']): SecurityMember => ({
    networkInterfaceId: createId('networkInterface', 't'),
    primaryAddress: own,
    secondaryAddresses: [],
    securityGroupIds,
  });
  const emptyGroup = (id: typeof web, type: SecurityGroup['type'] = 'basic'): SecurityGroup => ({
    id,
    type,
    innerAccessPolicy: type === 'basic' ? 'accept' : 'drop',
    rules: [],
  });

  it('lets the members of a new basic group talk, drops other ingress and allows egress', () => {
    const [a, b, c] = [member('10.0.0.1', web), member('10.0.0.2', web), member('10.0.0.3', db)] as const;
    const compiled = compileSecurity({ groups: [emptyGroup(web), emptyGroup(db)], prefixLists: [] }, [
      a,
      b,
      c,
    ]);
    const packet = (from?: SecurityMember, to?: SecurityMember): Packet => ({
      source: from?.primaryAddress ?? '8.8.8.8',
      destination: to?.primaryAddress ?? '8.8.8.8',
      protocol: 'tcp',
      sourcePort: 1024,
      destinationPort: 22,
      ...(from && { from: from.networkInterfaceId }),
      ...(to && { to: to.networkInterfaceId }),
    });
    expect(passes(compiled, packet(a, b))).toBe(true);
    expect(passes(compiled, packet(a, c))).toBe(false);
    expect(passes(compiled, packet(undefined, a))).toBe(false);
    expect(passes(compiled, packet(a))).toBe(true);
  });

  it('shares one pair of chains among all interfaces with the same groups, in whatever order', () => {
    const all = Array.from({ length: 100 }, (_, index) =>
      member(`10.0.0.${index + 1}`, ...(index % 2 === 0 ? [web, db] : [db, web])),
    );
    const compiled = compileSecurity({ groups: [emptyGroup(web), emptyGroup(db)], prefixLists: [] }, all);
    expect(compiled.chains.size).toBe(2);
    expect(compiled.chainsOf.size).toBe(100);
  });

  it('refuses an interface in a group that does not exist', () => {
    expect(() => compileSecurity({ groups: [], prefixLists: [] }, [member('10.0.0.1', web)])).toThrow(web);
  });
});
