import { ecs } from '@openegs/schema';
import { type Action, aliasOf } from '../action.js';
import { associateEipAddress, unassociateEipAddress } from './eipAssociation.js';
import { describeEipAddresses } from './eipQueries.js';
import {
  allocateEipAddress,
  allocateEipAddressPro,
  describeHighDefinitionMonitorLogAttribute,
  modifyEipAddressAttribute,
  modifyEipForwardMode,
  releaseEipAddress,
  setHighDefinitionMonitorLogStatus,
} from './eips.js';
import {
  createForwardEntry,
  deleteForwardEntry,
  describeForwardTableEntries,
  modifyForwardEntry,
} from './forwardEntries.js';
import {
  createNatGateway,
  deleteNatGateway,
  describeNatGateways,
  modifyNatGatewayAttribute,
} from './natGateways.js';
import {
  createRouteEntries,
  createRouteEntry,
  deleteRouteEntries,
  deleteRouteEntry,
  modifyRouteEntry,
} from './routeEntries.js';
import { describeRouteEntryList, describeRouteTables } from './routeQueries.js';
import {
  associateRouteTable,
  createRouteTable,
  deleteRouteTable,
  describeRouteTableList,
  modifyRouteTableAttributes,
  unassociateRouteTable,
} from './routeTables.js';
import {
  deletionProtection,
  disableVpcClassicLink,
  enableVpcClassicLink,
  moveResourceGroup,
} from './settings.js';
import {
  createSnatEntry,
  deleteSnatEntry,
  describeSnatTableEntries,
  modifySnatEntry,
} from './snatEntries.js';
import { listTagResources, tagResources, unTagResources } from './tags.js';
import {
  createDefaultVpc,
  createVpc,
  deleteVpc,
  modifyVpcAttribute,
  modifyVpcAttributeOfEcs,
} from './vpcChanges.js';
import { associateVpcCidrBlock, unassociateVpcCidrBlock } from './vpcCidrBlocks.js';
import { describeVpcAttribute, describeVpcs } from './vpcs.js';
import { describeVRouters, modifyVRouterAttribute } from './vRouters.js';
import {
  createDefaultVSwitch,
  createVSwitch,
  deleteVSwitch,
  modifyVSwitchAttribute,
} from './vSwitchChanges.js';
import { describeVSwitchAttributes, describeVSwitches } from './vSwitches.js';

/** The actions of the VPC product, and the forms of them that ECS has from the time before. */
export const vpcActions: readonly Action[] = [
  createVpc,
  createDefaultVpc,
  describeVpcs,
  describeVpcAttribute,
  modifyVpcAttribute,
  deleteVpc,
  associateVpcCidrBlock,
  unassociateVpcCidrBlock,
  enableVpcClassicLink,
  disableVpcClassicLink,
  aliasOf(ecs.CreateVpc, createVpc),
  aliasOf(ecs.DescribeVpcs, describeVpcs),
  modifyVpcAttributeOfEcs,
  aliasOf(ecs.DeleteVpc, deleteVpc),

  createVSwitch,
  createDefaultVSwitch,
  describeVSwitches,
  describeVSwitchAttributes,
  modifyVSwitchAttribute,
  deleteVSwitch,
  aliasOf(ecs.CreateVSwitch, createVSwitch),
  aliasOf(ecs.DescribeVSwitches, describeVSwitches),
  aliasOf(ecs.ModifyVSwitchAttribute, modifyVSwitchAttribute),
  aliasOf(ecs.DeleteVSwitch, deleteVSwitch),

  describeRouteTableList,
  describeRouteTables,
  createRouteTable,
  modifyRouteTableAttributes,
  deleteRouteTable,
  associateRouteTable,
  unassociateRouteTable,
  describeRouteEntryList,
  createRouteEntry,
  createRouteEntries,
  modifyRouteEntry,
  deleteRouteEntry,
  deleteRouteEntries,
  describeVRouters,
  modifyVRouterAttribute,
  aliasOf(ecs.DescribeRouteTables, describeRouteTables),
  aliasOf(ecs.CreateRouteEntry, createRouteEntry),
  aliasOf(ecs.DeleteRouteEntry, deleteRouteEntry),
  aliasOf(ecs.DescribeVRouters, describeVRouters),
  aliasOf(ecs.ModifyVRouterAttribute, modifyVRouterAttribute),

  allocateEipAddress,
  allocateEipAddressPro,
  describeEipAddresses,
  associateEipAddress,
  unassociateEipAddress,
  modifyEipAddressAttribute,
  releaseEipAddress,
  modifyEipForwardMode,
  setHighDefinitionMonitorLogStatus,
  describeHighDefinitionMonitorLogAttribute,
  aliasOf(ecs.AllocateEipAddress, allocateEipAddress),
  aliasOf(ecs.DescribeEipAddresses, describeEipAddresses),
  aliasOf(ecs.AssociateEipAddress, associateEipAddress),
  aliasOf(ecs.UnassociateEipAddress, unassociateEipAddress),
  aliasOf(ecs.ModifyEipAddressAttribute, modifyEipAddressAttribute),
  aliasOf(ecs.ReleaseEipAddress, releaseEipAddress),

  createNatGateway,
  describeNatGateways,
  modifyNatGatewayAttribute,
  deleteNatGateway,
  createSnatEntry,
  describeSnatTableEntries,
  modifySnatEntry,
  deleteSnatEntry,
  createForwardEntry,
  describeForwardTableEntries,
  modifyForwardEntry,
  deleteForwardEntry,
  aliasOf(ecs.DescribeNatGateways, describeNatGateways),
  aliasOf(ecs.DeleteNatGateway, deleteNatGateway),
  aliasOf(ecs.CreateForwardEntry, createForwardEntry),
  aliasOf(ecs.DescribeForwardTableEntries, describeForwardTableEntries),
  aliasOf(ecs.ModifyForwardEntry, modifyForwardEntry),
  aliasOf(ecs.DeleteForwardEntry, deleteForwardEntry),

  tagResources,
  unTagResources,
  listTagResources,
  deletionProtection,
  moveResourceGroup,
];
