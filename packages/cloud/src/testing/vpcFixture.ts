import * as Ecs from '@alicloud/ecs20140526';
import * as Vpc from '@alicloud/vpc20160428';
import type { NetworkInterfaceId, VpcId } from '../domain/ids.js';
import type { VpcNetwork } from '../drivers/network/driver.js';
import type { Clients } from './clients.js';
import type { TestCloud } from './testCloud.js';

const regionId = 'cn-hangzhou';
const zoneId = 'cn-hangzhou-a';

/** A VPC with one vSwitch and a security group, made through the API, and what tests put into it. */
export class VpcFixture {
  private constructor(
    private readonly clients: Pick<Clients, 'ecs' | 'vpc'>,
    readonly vpcId: string,
    readonly routeTableId: string,
    readonly vRouterId: string,
    readonly vSwitchId: string,
    readonly securityGroupId: string,
  ) {}

  static async create(
    clients: Pick<Clients, 'ecs' | 'vpc'>,
    { cidrBlock = '10.0.0.0/16', vSwitchCidr = '10.0.1.0/24' } = {},
  ): Promise<VpcFixture> {
    const { body: vpc } = await clients.vpc.createVpc(new Vpc.CreateVpcRequest({ regionId, cidrBlock }));
    const vpcId = vpc?.vpcId ?? '';
    const { body: vSwitch } = await clients.vpc.createVSwitch(
      new Vpc.CreateVSwitchRequest({ regionId, zoneId, vpcId, cidrBlock: vSwitchCidr }),
    );
    const { body: group } = await clients.ecs.createSecurityGroup(
      new Ecs.CreateSecurityGroupRequest({ regionId, vpcId }),
    );
    return new VpcFixture(
      clients,
      vpcId,
      vpc?.routeTableId ?? '',
      vpc?.VRouterId ?? '',
      vSwitch?.vSwitchId ?? '',
      group?.securityGroupId ?? '',
    );
  }

  async createVSwitch(cidrBlock: string): Promise<string> {
    const { body } = await this.clients.vpc.createVSwitch(
      new Vpc.CreateVSwitchRequest({ regionId, zoneId, vpcId: this.vpcId, cidrBlock }),
    );
    return body?.vSwitchId ?? '';
  }

  async runInstance(request: Partial<Ecs.RunInstancesRequest> = {}): Promise<string> {
    const { body } = await this.clients.ecs.runInstances(
      new Ecs.RunInstancesRequest({
        regionId,
        imageId: 'debian_12_x64_egs',
        instanceType: 'ecs.c6.large',
        vSwitchId: this.vSwitchId,
        securityGroupId: this.securityGroupId,
        ...request,
      }),
    );
    return body?.instanceIdSets?.instanceIdSet?.[0] ?? '';
  }

  async describeInstance(id: string) {
    const { body } = await this.clients.ecs.describeInstances(
      new Ecs.DescribeInstancesRequest({ regionId, instanceIds: JSON.stringify([id]) }),
    );
    return body?.instances?.instance?.[0];
  }

  /** The primary network interface of an instance, and its address. */
  async primaryOf(id: string): Promise<{ networkInterfaceId: NetworkInterfaceId; address: string }> {
    const instance = await this.describeInstance(id);
    const [primary] = instance?.networkInterfaces?.networkInterface ?? [];
    return {
      networkInterfaceId: (primary?.networkInterfaceId ?? '') as NetworkInterfaceId,
      address: primary?.primaryIpAddress ?? '',
    };
  }

  async allocateEip(request: Partial<Vpc.AllocateEipAddressRequest> = {}) {
    const { body } = await this.clients.vpc.allocateEipAddress(
      new Vpc.AllocateEipAddressRequest({ regionId, ...request }),
    );
    return { allocationId: body?.allocationId ?? '', eipAddress: body?.eipAddress ?? '' };
  }

  associateEip(allocationId: string, instanceId: string, instanceType?: string) {
    return this.clients.vpc.associateEipAddress(
      new Vpc.AssociateEipAddressRequest({
        regionId,
        allocationId,
        instanceId,
        ...(instanceType === undefined ? {} : { instanceType }),
      }),
    );
  }

  unassociateEip(allocationId: string, request: Partial<Vpc.UnassociateEipAddressRequest> = {}) {
    return this.clients.vpc.unassociateEipAddress(
      new Vpc.UnassociateEipAddressRequest({ regionId, allocationId, ...request }),
    );
  }

  releaseEip(allocationId: string) {
    return this.clients.vpc.releaseEipAddress(new Vpc.ReleaseEipAddressRequest({ regionId, allocationId }));
  }

  async describeEip(allocationId: string) {
    const { body } = await this.clients.vpc.describeEipAddresses(
      new Vpc.DescribeEipAddressesRequest({ regionId, allocationId }),
    );
    return body?.eipAddresses?.eipAddress?.[0];
  }

  async createNatGateway() {
    const { body } = await this.clients.vpc.createNatGateway(
      new Vpc.CreateNatGatewayRequest({
        regionId,
        vpcId: this.vpcId,
        vSwitchId: this.vSwitchId,
        natType: 'Enhanced',
      }),
    );
    return {
      natGatewayId: body?.natGatewayId ?? '',
      snatTableId: body?.snatTableIds?.snatTableId?.[0] ?? '',
      forwardTableId: body?.forwardTableIds?.forwardTableId?.[0] ?? '',
    };
  }

  /** What the host was told about the VPC, once the loops have nothing left to do. */
  async applied({ cloud, network }: TestCloud): Promise<VpcNetwork> {
    await cloud.reconciler.idle();
    const applied = network.networks.get(this.vpcId as VpcId);
    if (!applied) throw new Error(`nothing of ${this.vpcId} is on the host`);
    return applied;
  }
}
