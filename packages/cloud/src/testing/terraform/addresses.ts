import { expect } from 'vitest';
import {
  clientToken,
  type Json,
  labels,
  type PlannedResource,
  type TerraformProvider,
  ZoneId,
} from './provider.js';

interface NatGateway extends Json {
  readonly SnatTableIds: { readonly SnatTableId: string[] };
}

async function readEip(provider: TerraformProvider, AllocationId: string): Promise<Json | undefined> {
  const { EipAddresses } = await provider.vpc<{ EipAddresses: { EipAddress: Json[] } }>(
    'DescribeEipAddresses',
    {
      AllocationId,
    },
  );
  return EipAddresses.EipAddress[0];
}

function associationOf(
  provider: TerraformProvider,
  eip: 'eip' | 'natEip',
  instance: 'instance' | 'natGateway',
  InstanceType: string,
) {
  const binding = () => ({
    AllocationId: provider.ids[eip],
    InstanceId: provider.ids[instance],
    InstanceType,
  });
  return {
    address: `alicloud_eip_association (${InstanceType})`,
    async create() {
      await provider.vpc('AssociateEipAddress', { ...binding(), ClientToken: clientToken() });
    },
    async read() {
      const found = await readEip(provider, provider.ids[eip]);
      return found?.['InstanceId'] === provider.ids[instance] ? found : undefined;
    },
    written: { Status: 'InUse', InstanceType },
    delete: () => provider.vpc('UnassociateEipAddress', { ...binding(), ClientToken: clientToken() }),
  } satisfies PlannedResource;
}

/** EIPs of an instance and of a NAT gateway, and the NAT gateway with its SNAT entry. */
export function planAddresses(provider: TerraformProvider): readonly PlannedResource[] {
  return [
    {
      address: 'alicloud_eip_address',
      async create() {
        const answer = await provider.vpc<{ AllocationId: string }>('AllocateEipAddress', {
          ...labels('first'),
          Bandwidth: 5,
          ISP: 'BGP',
          InternetChargeType: 'PayByTraffic',
          InstanceChargeType: 'PostPaid',
          ClientToken: clientToken(),
        });
        provider.ids.eip = answer.AllocationId;
        await provider.tagOf('vpc', 'EIP', provider.ids.eip).add('first');
      },
      read: () => readEip(provider, provider.ids.eip),
      written: {
        Status: 'Available',
        Name: 'first',
        Description: 'first of a plan',
        Bandwidth: '5',
        ISP: 'BGP',
        ChargeType: 'PostPaid',
        InternetChargeType: 'PayByTraffic',
        DeletionProtection: false,
        HDMonitorStatus: 'OFF',
        Tags: { Tag: [{ Key: 'plan', Value: 'first' }] },
      },
      async update() {
        const AllocationId = provider.ids.eip;
        await provider.vpc('ModifyEipAddressAttribute', {
          AllocationId,
          Bandwidth: 10,
          Name: 'second',
          Description: 'x2',
        });
      },
      updated: { Bandwidth: '10', Name: 'second', Description: 'x2' },
      delete: () => provider.vpc('ReleaseEipAddress', { AllocationId: provider.ids.eip }),
    },
    associationOf(provider, 'eip', 'instance', 'EcsInstance'),
    {
      address: 'alicloud_nat_gateway',
      async create() {
        const answer = await provider.vpc<{ NatGatewayId: string }>('CreateNatGateway', {
          ...labels('first'),
          VpcId: provider.ids.vpc,
          VSwitchId: provider.ids.vSwitch,
          NatType: 'Enhanced',
          NetworkType: 'internet',
          InstanceChargeType: 'PostPaid',
          InternetChargeType: 'PayByLcu',
          ClientToken: clientToken(),
        });
        provider.ids.natGateway = answer.NatGatewayId;
      },
      async read() {
        const { NatGateways } = await provider.vpc<{ NatGateways: { NatGateway: NatGateway[] } }>(
          'DescribeNatGateways',
          {
            NatGatewayId: provider.ids.natGateway,
          },
        );
        const [found] = NatGateways.NatGateway;
        provider.ids.snatTable = found?.SnatTableIds.SnatTableId[0] ?? provider.ids.snatTable;
        return (
          found && {
            ...found,
            tags: await provider.tagOf('vpc', 'NATGATEWAY', provider.ids.natGateway).read(),
          }
        );
      },
      written: {
        Status: 'Available',
        Name: 'first',
        Description: 'first of a plan',
        NatType: 'Enhanced',
        InstanceChargeType: 'PostPaid',
        InternetChargeType: 'PayByLcu',
        DeletionProtection: false,
        NetworkType: 'internet',
        EipBindMode: 'MULTI_BINDED',
        NatGatewayPrivateInfo: expect.objectContaining({ IzNo: ZoneId }),
        SnatTableIds: { SnatTableId: [expect.stringMatching(/^stb-/)] },
        ForwardTableIds: { ForwardTableId: [expect.stringMatching(/^ftb-/)] },
        tags: [],
      },
      async update() {
        await provider.vpc('ModifyNatGatewayAttribute', {
          NatGatewayId: provider.ids.natGateway,
          Name: 'second',
          Description: 'x2',
        });
        await provider.tagOf('vpc', 'NATGATEWAY', provider.ids.natGateway).add('second');
      },
      updated: { Name: 'second', Description: 'x2', tags: [['plan', 'second']] },
      delete: () => provider.vpc('DeleteNatGateway', { NatGatewayId: provider.ids.natGateway }),
    },
    {
      address: 'alicloud_eip_address (of the NAT gateway)',
      async create() {
        const answer = await provider.vpc<{ AllocationId: string; EipAddress: string }>(
          'AllocateEipAddress',
          {},
        );
        provider.ids.natEip = answer.AllocationId;
        provider.ids.natAddress = answer.EipAddress;
      },
      read: () => readEip(provider, provider.ids.natEip),
      written: { Status: 'Available', Bandwidth: '5', Name: '' },
      delete: () => provider.vpc('ReleaseEipAddress', { AllocationId: provider.ids.natEip }),
    },
    associationOf(provider, 'natEip', 'natGateway', 'Nat'),
    {
      address: 'alicloud_snat_entry',
      async create() {
        const answer = await provider.vpc<{ SnatEntryId: string }>('CreateSnatEntry', {
          SnatTableId: provider.ids.snatTable,
          SnatIp: provider.ids.natAddress,
          SourceVSwitchId: provider.ids.vSwitch,
          SnatEntryName: 'first',
          ClientToken: clientToken(),
        });
        provider.ids.snatEntry = answer.SnatEntryId;
      },
      async read() {
        const { SnatTableEntries } = await provider.vpc<{ SnatTableEntries: { SnatTableEntry: Json[] } }>(
          'DescribeSnatTableEntries',
          { SnatTableId: provider.ids.snatTable, SnatEntryId: provider.ids.snatEntry },
        );
        return SnatTableEntries.SnatTableEntry[0];
      },
      written: { Status: 'Available', SnatEntryName: 'first', SourceCIDR: '10.1.0.0/16' },
      async update() {
        const entry = { SnatTableId: provider.ids.snatTable, SnatEntryId: provider.ids.snatEntry };
        await provider.vpc('ModifySnatEntry', {
          ...entry,
          SnatEntryName: 'second',
          ClientToken: clientToken(),
        });
      },
      updated: { Status: 'Available', SnatEntryName: 'second' },
      delete: () =>
        provider.vpc('DeleteSnatEntry', {
          SnatTableId: provider.ids.snatTable,
          SnatEntryId: provider.ids.snatEntry,
        }),
    },
  ];
}
