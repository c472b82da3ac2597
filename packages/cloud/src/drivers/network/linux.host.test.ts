import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId, type SecurityGroupId } from '../../domain/ids.js';
import type { SecurityGroup, SecurityRule } from '../../domain/network/security.js';
import type { NetworkDriver, VpcNetwork, VpcPort } from './driver.js';
import { namespacePath, runBatch, runInNamespace, runProgram } from './linux/commands.js';
import { LinuxNetworkDriver } from './linux/driver.js';
import { missingForPacketTests, TestHost, TestLab } from './linux/testing/lab.js';

const missing = missingForPacketTests();
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(`packet tests: ${missing}`);

// Ranges and names of this run only, so that runs beside each other do not meet.
const run = process.pid % 30;
const tag = `t${(process.pid % 46656).toString(36).padStart(3, '0')}`;
const publicAddress = (index: number): string => `198.18.${run}.${index}`;
const worldAddress = `198.19.${run}.2`;
const metadataPort = 20_000 + (process.pid % 10_000);

function rule(options: Partial<SecurityRule> & Pick<SecurityRule, 'peer'>): SecurityRule {
  return {
    id: createId('securityGroupRule', 't'),
    direction: 'ingress',
    policy: 'accept',
    priority: 1,
    protocol: 'tcp',
    ...options,
  };
}

function group(rules: readonly SecurityRule[], options: Partial<SecurityGroup> = {}): SecurityGroup {
  return {
    id: createId('securityGroup', 't'),
    type: 'basic',
    innerAccessPolicy: 'accept',
    rules,
    ...options,
  };
}

let lastPort = 0;

function port(
  network: Pick<VpcNetwork, 'vSwitches'>,
  vSwitch: number,
  address: string,
  groups: readonly SecurityGroupId[],
  hostName?: string,
): VpcPort {
  lastPort += 1;
  const vSwitchId = network.vSwitches[vSwitch]?.id;
  if (vSwitchId === undefined) throw new Error(`no vSwitch number ${vSwitch}`);
  return {
    networkInterfaceId: createId('networkInterface', 't'),
    vSwitchId,
    macAddress: `00:16:3e:00:${run.toString(16).padStart(2, '0')}:${lastPort.toString(16).padStart(2, '0')}`,
    primaryAddress: address,
    secondaryAddresses: [],
    fabricAddress: `100.${67 + run * 2}.1.${lastPort}`,
    securityGroupIds: groups,
    ...(hostName !== undefined && { hostName }),
  };
}

function vpc(index: number): VpcNetwork {
  return {
    id: createId('vpc', 't'),
    index,
    cidrs: ['10.20.0.0/16'],
    vSwitches: [1, 2].map((subnet) => ({
      id: createId('vSwitch', 't'),
      cidr: `10.20.${subnet}.0/24`,
      gateway: `10.20.${subnet}.253`,
    })),
    ports: [],
    security: { groups: [], prefixLists: [] },
    routeTables: [],
    eips: [],
    natGateways: [],
    outboundNat: false,
    dnsNames: [],
  };
}

describe.skipIf(missing !== undefined)(
  `packets in a VPC${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let driver: NetworkDriver;
    let lab: TestLab;
    let world: TestHost;
    let hostService: TestHost;

    const reopen = (): Promise<LinuxNetworkDriver> =>
      LinuxNetworkDriver.open({
        tag,
        transitCidr: `100.${66 + run * 2}.0.0/16`,
        fabricCidr: `100.${67 + run * 2}.0.0/16`,
        metadataPort,
      });

    beforeAll(async () => {
      driver = await reopen();
      lab = await TestLab.create(driver.names);
      world = await lab.addOutside('world', `${tag}world`, `198.19.${run}.1`, worldAddress);
      await world.listenTcp(80);
      hostService = await lab.addOnHost('host');
      await hostService.listenTcp(metadataPort);
    });

    afterAll(async () => {
      await lab?.close();
      await driver?.removeAll();
    });

    describe('of two VPCs with equal ranges', () => {
      const web = group([
        rule({
          protocol: 'tcp',
          portRange: { first: 22, last: 22 },
          peer: { kind: 'cidr', cidr: '10.20.0.0/16' },
        }),
        rule({
          protocol: 'udp',
          portRange: { first: 5000, last: 5010 },
          peer: { kind: 'cidr', cidr: '10.20.2.0/24' },
        }),
      ]);
      const databaseRule = rule({
        portRange: { first: 5432, last: 5432 },
        peer: { kind: 'group', securityGroupId: web.id },
      });
      const database = group([databaseRule]);
      const base = vpc(0);
      const a1 = port(base, 0, '10.20.1.10', [web.id], 'web-1');
      const a2 = port(base, 0, '10.20.1.11', [database.id], 'db-1');
      const a3 = port(base, 1, '10.20.2.10', [database.id], 'db-2');
      let a: VpcNetwork = {
        ...base,
        ports: [a1, a2, a3],
        security: { groups: [web, database], prefixLists: [] },
        dnsNames: [{ name: 'i-web1.cn-hangzhou.ecs.internal', address: '10.20.1.10' }],
      };
      const other = vpc(1);
      const open = group([rule({ protocol: 'all', peer: { kind: 'cidr', cidr: '0.0.0.0/0' } })]);
      const b1 = port(other, 0, '10.20.1.10', [open.id]);
      const b2 = port(other, 0, '10.20.1.11', [open.id]);
      const b: VpcNetwork = { ...other, ports: [b1, b2], security: { groups: [open], prefixLists: [] } };
      let web1: TestHost;
      let db1: TestHost;
      let db2: TestHost;
      let foreign1: TestHost;
      let foreign2: TestHost;

      const change = async (patch: Partial<VpcNetwork>): Promise<void> => {
        a = { ...a, ...patch };
        await driver.applyVpc(a);
      };
      const withRules = (...rules: readonly SecurityRule[]): Partial<VpcNetwork> => ({
        security: { groups: [web, { ...database, rules }], prefixLists: [] },
      });
      const vpcNamespace = (): string => driver.names.namespace(a.id);

      beforeAll(async () => {
        await Promise.all([driver.applyVpc(a), driver.applyVpc(b)]);
        web1 = await lab.addGuest(a, a1, { name: 'web1' });
        db1 = await lab.addGuest(a, a2, { name: 'db1' });
        db2 = await lab.addGuest(a, a3, { name: 'db2' });
        foreign1 = await lab.addGuest(b, b1, { name: 'foreign1' });
        foreign2 = await lab.addGuest(b, b2, { name: 'foreign2' });
        for (const guest of [web1, db1, db2, foreign2]) {
          for (const number of [22, 80, 5432]) await guest.listenTcp(number);
          for (const number of [5005, 6000]) await guest.listenUdp(number);
        }
      });

      it('lets through what a rule allows, and the replies, in one subnet and across', async () => {
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
        expect(await web1.connectTcp('10.20.2.10', 5432)).toBe('db2 10.20.1.10');
        expect(await db1.connectTcp('10.20.1.10', 22)).toBe('web1 10.20.1.11');
        expect(await db2.connectTcp('10.20.1.10', 22)).toBe('web1 10.20.2.10');
      });

      it('drops what no rule allows', async () => {
        expect(await web1.connectTcp('10.20.1.11', 80)).toBe('blocked');
        expect(await web1.connectTcp('10.20.2.10', 80)).toBe('blocked');
        expect(await db1.connectTcp('10.20.1.10', 5432)).toBe('blocked');
        expect(await web1.ping('10.20.1.11')).toBe(false);
      });

      it('lets the members of a group reach each other, until its inner access policy says drop', async () => {
        expect(await db1.connectTcp('10.20.2.10', 80)).toBe('db2 10.20.1.11');
        expect(await db1.ping('10.20.2.10')).toBe(true);
        const closed: SecurityGroup = { ...database, innerAccessPolicy: 'drop' };
        await change({ security: { groups: [web, closed], prefixLists: [] } });
        expect(await db1.connectTcp('10.20.2.10', 80)).toBe('blocked');
        await change(withRules(databaseRule));
        expect(await db1.connectTcp('10.20.2.10', 80)).toBe('db2 10.20.1.11');
      });

      it('filters UDP by port and source range', async () => {
        expect(await db2.sendUdp('10.20.1.10', 5005)).toBe('web1 10.20.2.10');
        expect(await db2.sendUdp('10.20.1.10', 6000)).toBe('blocked');
        expect(await db1.sendUdp('10.20.1.10', 5005)).toBe('blocked');
      });

      it('filters ICMP, source ports, near ends and prefix lists', async () => {
        const list = { id: createId('prefixList', 't'), cidrs: ['10.20.1.0/30', '10.20.1.8/30'] };
        const anywhere = { kind: 'cidr', cidr: '0.0.0.0/0' } as const;
        const rules = [
          rule({ protocol: 'icmp', peer: { kind: 'prefixList', prefixListId: list.id } }),
          rule({ portRange: { first: 80, last: 80 }, peer: anywhere, localCidr: '10.20.2.0/24' }),
          rule({
            portRange: { first: 22, last: 22 },
            sourcePortRange: { first: 1, last: 1023 },
            peer: anywhere,
          }),
        ];
        await change({ security: { groups: [web, { ...database, rules }], prefixLists: [list] } });
        expect(await web1.ping('10.20.1.11')).toBe(true);
        expect(await web1.connectTcp('10.20.2.10', 80)).toBe('db2 10.20.1.10');
        expect(await web1.connectTcp('10.20.1.11', 80)).toBe('blocked');
        expect(await web1.connectTcp('10.20.1.11', 22)).toBe('blocked');
        const elsewhere = { ...list, cidrs: ['10.20.1.128/25'] };
        await change({ security: { groups: [web, { ...database, rules }], prefixLists: [elsewhere] } });
        expect(await web1.ping('10.20.1.11')).toBe(false);
        await change(withRules(databaseRule));
      });

      it('goes by priority, and lets drop win at equal priority', async () => {
        const drop = rule({
          ...databaseRule,
          policy: 'drop',
          priority: 1,
          peer: { kind: 'cidr', cidr: '10.20.1.10/32' },
        });
        await change(withRules(databaseRule, drop));
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('blocked');
        await change(withRules(databaseRule, { ...drop, priority: 2 }));
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
        await change(withRules(databaseRule));
      });

      it('filters what leaves an instance', async () => {
        const out = rule({
          direction: 'egress',
          policy: 'drop',
          portRange: { first: 22, last: 22 },
          peer: { kind: 'group', securityGroupId: web.id },
        });
        await change(withRules(databaseRule, out));
        expect(await db1.connectTcp('10.20.1.10', 22)).toBe('blocked');
        await change(withRules(databaseRule));
        expect(await db1.connectTcp('10.20.1.10', 22)).toBe('web1 10.20.1.11');
      });

      it('cuts an established flow when its rule goes, and no other', async () => {
        expect(await web1.connectTcp('10.20.1.11', 5432, { id: 'revoked' })).toBe('db1 10.20.1.10');
        expect(await db1.connectTcp('10.20.1.10', 22, { id: 'kept' })).toBe('web1 10.20.1.11');
        await change(withRules());
        expect(await web1.exchange('revoked')).toBe('cut');
        expect(await db1.exchange('kept')).toBe('echoed');
        await change(withRules(databaseRule));
      });

      it('keeps the VPCs apart, although their addresses are equal', async () => {
        expect(await foreign1.connectTcp('10.20.1.11', 80)).toBe('foreign2 10.20.1.10');
        expect(await foreign1.connectTcp('10.20.2.10', 5432)).toBe('blocked');
        expect(await foreign1.connectTcp(a1.fabricAddress, 22)).toBe('blocked');
      });

      it('drops a foreign IP address, until it is a secondary address of the interface', async () => {
        await runBatch('ip', web1.namespace, ['address add 10.20.1.99/24 dev eth0']);
        expect(await web1.connectTcp('10.20.1.11', 5432, { localAddress: '10.20.1.99' })).toBe('blocked');
        await change({ ports: [{ ...a1, secondaryAddresses: ['10.20.1.99'] }, a2, a3] });
        expect(await web1.connectTcp('10.20.1.11', 5432, { localAddress: '10.20.1.99' })).toBe(
          'db1 10.20.1.99',
        );
        expect(await db1.connectTcp('10.20.1.99', 22)).toBe('web1 10.20.1.11');
        await change({ ports: [a1, a2, a3] });
        expect(await web1.connectTcp('10.20.1.11', 5432, { localAddress: '10.20.1.99' })).toBe('blocked');
        await runBatch('ip', web1.namespace, ['address del 10.20.1.99/24 dev eth0']);
      });

      it('drops a foreign hardware address', async () => {
        await runBatch('ip', web1.namespace, ['link set eth0 address 00:16:3e:99:99:99']);
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('blocked');
        await runBatch('ip', web1.namespace, [`link set eth0 address ${a1.macAddress}`]);
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
      });

      it('drops a forged ARP announcement', async () => {
        const neighbours = async (): Promise<string> =>
          runInNamespace(vpcNamespace(), 'ip', ['-4', 'neigh', 'show', '10.20.1.11']);
        expect(await db1.connectTcp('10.20.1.10', 22)).toBe('web1 10.20.1.11');
        expect(await neighbours()).toContain(a2.macAddress);
        await runBatch('ip', web1.namespace, ['address add 10.20.1.11/32 dev eth0']);
        await runInNamespace(web1.namespace, 'busybox', [
          'arping',
          '-A',
          '-c',
          '3',
          '-I',
          'eth0',
          '-s',
          '10.20.1.11',
          '10.20.1.11',
        ]).catch(() => {});
        await runBatch('ip', web1.namespace, ['address del 10.20.1.11/32 dev eth0']);
        expect(await neighbours()).toContain(a2.macAddress);
        expect(await db2.connectTcp('10.20.1.11', 80)).toBe('db1 10.20.2.10');
      });

      it('gives out the address, the way out and the name server by DHCP', async () => {
        const added = port(a, 1, '10.20.2.77', [web.id], 'fresh');
        await change({ ports: [a1, a2, a3, added] });
        const guest = await lab.addGuest(a, added, { name: 'fresh', dhcp: true });
        const lease = await lab.askForLease(guest);
        expect(lease.get('ip')).toBe('10.20.2.77');
        expect(lease.get('router')).toBe('10.20.2.253');
        expect(lease.get('dns')).toBe('10.20.2.253');
        expect(lease.get('hostname')).toBe('fresh');
        expect(await db1.resolve('10.20.1.253', 'fresh')).toEqual(['10.20.2.77']);
        // Another interface gets the address at once, although the lease has not ended.
        const next: VpcPort = {
          ...added,
          macAddress: '00:16:3e:00:ff:ff',
          networkInterfaceId: createId('networkInterface', 't'),
        };
        await runBatch('ip', undefined, [`link del ${driver.names.hostDevice(added.networkInterfaceId)}`]);
        await change({ ports: [a1, a2, a3, next] });
        await lab.plug(a, next, guest.namespace ?? '', 'eth0');
        expect((await lab.askForLease(guest)).get('ip')).toBe('10.20.2.77');
        await change({ ports: [a1, a2, a3] });
        expect(await db1.resolve('10.20.1.253', 'fresh')).toBe('EREFUSED');
      });

      it('resolves the names of the VPC, and of no other', async () => {
        expect(await db1.resolve('10.20.1.253', 'web-1')).toEqual(['10.20.1.10']);
        expect(await db2.resolve('100.100.2.136', 'i-web1.cn-hangzhou.ecs.internal')).toEqual(['10.20.1.10']);
        expect(await foreign1.resolve('10.20.1.253', 'web-1')).not.toEqual(['10.20.1.10']);
      });

      it('leads to the metadata service, which tells equal addresses apart, whatever the groups say', async () => {
        const mute = group([
          rule({
            direction: 'egress',
            protocol: 'all',
            policy: 'drop',
            peer: { kind: 'cidr', cidr: '0.0.0.0/0' },
          }),
        ]);
        await change({
          ports: [{ ...a1, securityGroupIds: [mute.id] }, a2, a3],
          security: { groups: [web, database, mute], prefixLists: [] },
        });
        expect(await web1.connectTcp('100.100.100.200', 80)).toBe(`host ${a1.fabricAddress}`);
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('blocked');
        expect(await foreign1.connectTcp('100.100.100.200', 80)).toBe(`host ${b1.fabricAddress}`);
        await change({ ports: [a1, a2, a3], ...withRules(databaseRule) });
      });

      it('has no way out without EIP and NAT', async () => {
        expect(await web1.connectTcp(worldAddress, 80)).toBe('blocked');
        await change({ outboundNat: true });
        expect(await web1.connectTcp(worldAddress, 80)).toBe(`world 198.19.${run}.1`);
        await change({ outboundNat: false });
        expect(await web1.connectTcp(worldAddress, 80)).toBe('blocked');
      });

      it('leads in and out by an EIP, in by the rules, and cuts its flows when it goes', async () => {
        const eip = (address: string, target: VpcPort): VpcNetwork['eips'][number] => ({
          id: createId('eip', 't'),
          address,
          target: {
            kind: 'networkInterface',
            networkInterfaceId: target.networkInterfaceId,
            privateAddress: target.primaryAddress,
          },
        });
        const fromWorld = rule({ ...databaseRule, peer: { kind: 'cidr', cidr: `${worldAddress}/32` } });
        await change({ eips: [eip(publicAddress(10), a2)], ...withRules(databaseRule, fromWorld) });
        expect(await db1.connectTcp(worldAddress, 80)).toBe(`world ${publicAddress(10)}`);
        expect(await world.connectTcp(publicAddress(10), 5432, { id: 'in' })).toBe(`db1 ${worldAddress}`);
        expect(await world.connectTcp(publicAddress(10), 80)).toBe('blocked');
        expect(await web1.connectTcp(worldAddress, 80)).toBe('blocked');

        // Between two VPCs there are only public addresses.
        await driver.applyVpc({ ...b, eips: [eip(publicAddress(11), b1)] });
        expect(await db1.connectTcp(publicAddress(11), 22)).toBe('blocked');
        await foreign1.listenTcp(22);
        expect(await db1.connectTcp(publicAddress(11), 22)).toBe(`foreign1 ${publicAddress(10)}`);
        await driver.applyVpc(b);

        expect(await world.exchange('in')).toBe('echoed');
        await change({ eips: [], ...withRules(databaseRule) });
        expect(await world.exchange('in')).toBe('cut');
        expect(await db1.connectTcp(worldAddress, 80)).toBe('blocked');
      });

      it('translates by a NAT gateway where a route leads to it', async () => {
        const natGatewayId = createId('natGateway', 't');
        const eips = [20, 21].map((index): VpcNetwork['eips'][number] => ({
          id: createId('eip', 't'),
          address: publicAddress(index),
          target: { kind: 'natGateway', natGatewayId },
        }));
        const gateway: VpcNetwork['natGateways'][number] = {
          id: natGatewayId,
          snatEntries: [
            { sourceCidr: '10.20.1.0/24', addresses: [publicAddress(20)] },
            { sourceCidr: '10.20.1.11/32', addresses: [publicAddress(21)] },
          ],
          dnatEntries: [
            {
              protocol: 'tcp',
              externalAddress: publicAddress(20),
              externalPorts: { first: 8080, last: 8081 },
              internalAddress: '10.20.1.10',
              internalPort: 22,
            },
          ],
        };
        const fromWorld = rule({
          portRange: { first: 22, last: 22 },
          peer: { kind: 'cidr', cidr: '198.19.0.0/16' },
        });
        const openWeb = { ...web, rules: [...web.rules, fromWorld] };
        await change({
          eips,
          natGateways: [gateway],
          security: { groups: [openWeb, database], prefixLists: [] },
        });
        expect(await web1.connectTcp(worldAddress, 80)).toBe('blocked');
        const vSwitchIds = a.vSwitches.map(({ id }) => id);
        const entries = [
          { destinationCidr: '0.0.0.0/0', nextHop: { kind: 'natGateway', natGatewayId } as const },
        ];
        await change({ routeTables: [{ id: createId('routeTable', 't'), vSwitchIds, entries }] });
        expect(await web1.connectTcp(worldAddress, 80)).toBe(`world ${publicAddress(20)}`);
        expect(await db1.connectTcp(worldAddress, 80)).toBe(`world ${publicAddress(21)}`);
        expect(await db2.connectTcp(worldAddress, 80)).toBe('blocked');
        expect(await world.connectTcp(publicAddress(20), 8080)).toBe(`web1 ${worldAddress}`);
        expect(await world.connectTcp(publicAddress(20), 22)).toBe('blocked');
        await change({ eips: [], natGateways: [], routeTables: [], ...withRules(databaseRule) });
      });

      it('routes by a custom entry through an interface, which may answer for what is behind it', async () => {
        // db2 is the way to 172.31.0.0/16, of which it has one address itself.
        await runBatch('ip', db2.namespace, ['address add 172.31.0.1/32 dev lo']);
        const fromWeb = rule({ protocol: 'all', peer: { kind: 'group', securityGroupId: web.id } });
        const routeTables = [
          {
            id: createId('routeTable', 't'),
            vSwitchIds: a.vSwitches.slice(0, 1).map(({ id }) => id),
            entries: [
              {
                destinationCidr: '172.31.0.0/16',
                nextHop: { kind: 'networkInterface', networkInterfaceId: a3.networkInterfaceId } as const,
              },
            ],
          },
        ];
        await change({ routeTables });
        expect(await web1.connectTcp('172.31.0.1', 80)).toBe('blocked');
        await change(withRules(databaseRule, fromWeb));
        expect(await web1.connectTcp('172.31.0.1', 80)).toBe('db2 10.20.1.10');
        // In the other direction: what is behind it may begin too, but under no other name.
        expect(await db2.connectTcp('10.20.1.10', 22, { localAddress: '172.31.0.1' })).toBe('blocked');
        const openWeb = {
          ...web,
          rules: [...web.rules, rule({ protocol: 'all', peer: { kind: 'cidr', cidr: '172.31.0.0/16' } })],
        };
        await change({ security: { groups: [openWeb, { ...database, rules: [fromWeb] }], prefixLists: [] } });
        expect(await db2.connectTcp('10.20.1.10', 22, { localAddress: '172.31.0.1' })).toBe(
          'web1 172.31.0.1',
        );
        await runBatch('ip', db2.namespace, ['address del 172.31.0.1/32 dev lo']);
        await change({ routeTables: [], ...withRules(databaseRule) });
      });

      it('guards the host and the router', async () => {
        const router = await TestHost.start('router', vpcNamespace());
        try {
          await router.listenTcp(9999);
          await hostService.listenTcp(metadataPort + 1);
          const { address } = driver.metadataEndpoint;
          await change({ outboundNat: true });
          for (const [host, number] of [
            ['10.20.1.253', 9999],
            [`198.19.${run}.1`, metadataPort + 1],
            [address, metadataPort + 1],
            [`100.${66 + run * 2}.0.1`, metadataPort],
          ] as const) {
            expect(`${host}:${number} ${await web1.connectTcp(host, number)}`).toBe(
              `${host}:${number} blocked`,
            );
          }
          expect(await web1.connectTcp(worldAddress, 80)).toMatch(/^world /);
        } finally {
          await router.stop();
          await change({ outboundNat: false });
        }
      });

      it('limits the bandwidth in both directions, also after the instance restarted', async () => {
        const ports = [{ ...a1, egressKbits: 20_000, ingressKbits: 30_000 }, a2, a3];
        await change({ ports });
        await world.listenTcp(81);
        const classes = async (): Promise<string> =>
          [
            await runProgram('tc', ['class', 'show', 'dev', driver.names.routerPort(a1.vSwitchId)]),
            await runInNamespace(vpcNamespace(), 'tc', [
              'class',
              'show',
              'dev',
              driver.names.routerInterface(a1.vSwitchId),
            ]),
          ].join('');
        expect(await classes()).toMatch(/rate 20Mbit.*\n.*rate 30Mbit/);
        const sent = async (): Promise<number> => {
          const text = await runProgram('tc', [
            '-s',
            'class',
            'show',
            'dev',
            driver.names.routerPort(a1.vSwitchId),
          ]);
          return Number(/Sent (\d+) bytes/.exec(text)?.[1]);
        };
        const before = await sent();
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
        expect(await sent()).toBeGreaterThan(before);
        const received = await runInNamespace(vpcNamespace(), 'tc', [
          '-s',
          'class',
          'show',
          'dev',
          driver.names.routerInterface(a1.vSwitchId),
        ]);
        expect(Number(/Sent (\d+) bytes/.exec(received)?.[1])).toBeGreaterThan(0);

        // A restart makes the veth anew; the limit is not on it.
        await runBatch('ip', undefined, [`link del ${driver.names.hostDevice(a1.networkInterfaceId)}`]);
        await lab.plug(a, a1, web1.namespace ?? '', 'eth0');
        await runBatch('ip', web1.namespace, [
          'address add 10.20.1.10/24 dev eth0',
          'route add default via 10.20.1.253',
        ]);
        const restarted = await sent();
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
        expect(await sent()).toBeGreaterThan(restarted);
        await change({ ports: [a1, a2, a3] });
        expect(await classes()).toBe('');
      });

      it('finds everything right after a restart of the control plane, and leaves it alone', async () => {
        const limited = { ...a1, egressKbits: 20_000, ingressKbits: 1_500 };
        const natGatewayId = createId('natGateway', 't');
        await change({
          ports: [limited, a2, a3],
          outboundNat: true,
          natGateways: [
            {
              id: natGatewayId,
              snatEntries: [
                { sourceCidr: '10.20.1.0/24', addresses: [publicAddress(30), publicAddress(31)] },
              ],
              dnatEntries: [
                {
                  protocol: 'tcp',
                  externalAddress: publicAddress(30),
                  externalPorts: { first: 8080, last: 8080 },
                  internalAddress: '10.20.1.10',
                  internalPort: 22,
                },
              ],
            },
          ],
          eips: [
            ...[30, 31].map((index) => ({
              id: createId('eip', 't'),
              address: publicAddress(index),
              bandwidthKbits: 5000,
              target: { kind: 'natGateway', natGatewayId } as const,
            })),
            {
              id: createId('eip', 't'),
              address: publicAddress(32),
              target: {
                kind: 'networkInterface',
                networkInterfaceId: a1.networkInterfaceId,
                privateAddress: a1.primaryAddress,
              },
            },
          ],
          routeTables: [
            {
              id: createId('routeTable', 't'),
              vSwitchIds: a.vSwitches.map(({ id }) => id),
              entries: [
                {
                  destinationCidr: '0.0.0.0/0',
                  nextHop: { kind: 'networkInterface', networkInterfaceId: a3.networkInterfaceId },
                },
                { destinationCidr: '8.0.0.0/8', nextHop: { kind: 'natGateway', natGatewayId } },
              ],
            },
          ],
          security: {
            groups: [
              web,
              {
                ...database,
                rules: [databaseRule, rule({ peer: { kind: 'prefixList', prefixListId: list.id } })],
              },
            ],
            prefixLists: [list],
          },
        });
        expect(await web1.connectTcp('10.20.1.11', 5432, { id: 'across restart' })).toBe('db1 10.20.1.10');
        const again = await reopen();
        expect(await again.resyncVpc(a)).toEqual([]);
        expect(await again.resyncVpc(b)).toEqual([]);
        expect(await again.listVpcs()).toEqual(expect.arrayContaining([a.id, b.id]));
        expect(await web1.exchange('across restart')).toBe('echoed');
      });

      const list = {
        id: createId('prefixList', 't'),
        cidrs: ['10.9.0.0/16', '10.10.0.0/16', '192.168.1.1/32'],
      };

      it('brings back what was taken away or bent by hand', async () => {
        await change({
          ports: [a1, a2, a3],
          outboundNat: false,
          natGateways: [],
          eips: [],
          routeTables: [],
          ...withRules(databaseRule),
        });
        const namespace = vpcNamespace();
        const device = driver.names.routerInterface(a1.vSwitchId);
        const hostDevice = driver.names.hostDevice(a1.networkInterfaceId);
        for (const [what, damage] of [
          ['chain', () => runInNamespace(namespace, 'nft', ['flush', 'chain', 'ip', 'vpc', 'forward'])],
          ['table', () => runInNamespace(namespace, 'nft', ['delete', 'table', 'ip', 'vpc'])],
          ['elements', () => runProgram('nft', ['flush', 'set', 'bridge', `${tag}_ports`, 'sources'])],
          ['host table', () => runProgram('nft', ['delete', 'table', 'bridge', `${tag}_ports`])],
          ['default route', () => runBatch('ip', namespace, ['route del default'])],
          ['address', () => runBatch('ip', namespace, [`address flush dev ${device}`])],
          ['switch', () => runBatch('sysctl', namespace, [`net.ipv4.conf.${device}.proxy_arp_pvlan=0`])],
          [
            'router port',
            () => runBatch('ip', undefined, [`link del ${driver.names.routerPort(a1.vSwitchId)}`]),
          ],
          ['uplink', () => runBatch('ip', undefined, [`link del ${driver.names.uplink(a.id)}`])],
          ['isolation', () => runProgram('bridge', ['link', 'set', 'dev', hostDevice, 'isolated', 'off'])],
        ] as const) {
          await damage();
          expect(`${what}: ${(await driver.resyncVpc(a)).length > 0}`).toBe(`${what}: true`);
          expect(`${what}: ${await web1.connectTcp('10.20.1.11', 5432)}`).toBe(`${what}: db1 10.20.1.10`);
          expect(`${what}: ${await driver.resyncVpc(a)}`).toBe(`${what}: `);
        }
        // Its elements in the host's table went with it.
        await driver.applyVpc(b);
      });

      it('starts the name server again when it was killed', async () => {
        const pid = Number(await runProgram('cat', [`/run/openegs/${tag}/${a.id}/pid`]));
        process.kill(pid, 'SIGKILL');
        expect(await driver.resyncVpc(a)).toContain('dnsmasq');
        expect(await db1.resolve('10.20.1.253', 'web-1')).toEqual(['10.20.1.10']);
      });

      it('takes a wish that it cannot carry out for an error and works on', async () => {
        await expect(
          driver.applyVpc({ ...a, ports: [a1, { ...a2, primaryAddress: '10.20.1.10' }] }),
        ).rejects.toMatchObject({
          code: 'invalid',
        });
        expect(await web1.connectTcp('10.20.1.11', 5432)).toBe('db1 10.20.1.10');
      });

      it('leaves nothing of a VPC that is removed, and everything of the other', async () => {
        const devices = [...a.vSwitches.map(({ id }) => driver.names.bridge(id)), driver.names.uplink(a.id)];
        const pid = (await runProgram('cat', [`/run/openegs/${tag}/${a.id}/pid`])).trim();
        await driver.removeVpc(a.id);
        await driver.removeVpc(a.id);
        expect(await driver.listVpcs()).toEqual([b.id]);
        const links = await runProgram('ip', ['link', 'show']);
        for (const device of devices) expect(links).not.toContain(device);
        expect(existsSync(namespacePath(driver.names.namespace(a.id)))).toBe(false);
        expect(existsSync(`/run/openegs/${tag}/${a.id}`)).toBe(false);
        expect(await runProgram('nft', ['list', 'ruleset'])).not.toContain(a.id);
        expect(await runProgram('ip', ['route', 'show'])).not.toContain(a1.fabricAddress);
        expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
        expect(await foreign1.connectTcp('10.20.1.11', 80)).toBe('foreign2 10.20.1.10');
      });
    });
  },
);
