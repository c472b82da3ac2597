import { describe, expect, it } from 'vitest';
import type { ActionTable, Field, FieldShape } from './index.js';
import { ecs, ess, findAction, listActions, productNames, productVersions, ram, sts, vpc } from './index.js';

/** The field at a path of wire names; a list is passed through (`DataDisk.Size`). */
function fieldAt(fields: readonly Field[], path: string): Field {
  const [name, ...rest] = path.split('.');
  const field = fields.find(({ wire }) => wire === name);
  if (field === undefined) throw new Error(`no field ${path}`);
  if (rest.length === 0) return field;
  const shape: FieldShape = field.type === 'array' ? field.item : field;
  if (shape.type !== 'object') throw new Error(`${path} goes through ${shape.type}`);
  return fieldAt(shape.fields, rest.join('.'));
}

const parameter = (action: { table: () => ActionTable }, path: string) =>
  fieldAt(action.table().request, path);

describe('how lists and structs are spelt', () => {
  it('takes ids of the Describe actions as a JSON text', () => {
    const jsonList = { type: 'array', item: { type: 'string' }, style: 'json' };
    expect(parameter(ecs.DescribeInstances, 'InstanceIds')).toMatchObject(jsonList);
    expect(parameter(ecs.DescribeInstances, 'PrivateIpAddresses')).toMatchObject(jsonList);
    expect(parameter(ecs.DescribeDisks, 'DiskIds')).toMatchObject(jsonList);
    expect(parameter(ecs.DescribeSecurityGroups, 'SecurityGroupIds')).toMatchObject(jsonList);
    expect(parameter(ecs.DescribeSnapshots, 'SnapshotIds')).toMatchObject(jsonList);
    expect(parameter(ecs.AttachKeyPair, 'InstanceIds')).toMatchObject(jsonList);
    expect(parameter(ecs.DeleteKeyPairs, 'KeyPairNames')).toMatchObject(jsonList);
    expect(parameter(ecs.DescribeCapacityReservations, 'PrivatePoolOptions.Ids')).toMatchObject(jsonList);
  });

  it('takes ids of newer actions as a repeat list', () => {
    const repeatList = { type: 'array', item: { type: 'string' }, style: 'repeat' };
    expect(parameter(ecs.DeleteInstances, 'InstanceId')).toMatchObject(repeatList);
    expect(parameter(ecs.RunCommand, 'InstanceId')).toMatchObject(repeatList);
    expect(parameter(ecs.RunInstances, 'SecurityGroupIds')).toMatchObject(repeatList);
    expect(parameter(ecs.RunInstances, 'NetworkInterface.SecurityGroupIds')).toMatchObject(repeatList);
    expect(parameter(ecs.DescribeNetworkInterfaces, 'NetworkInterfaceId')).toMatchObject(repeatList);
    expect(parameter(vpc.TagResources, 'ResourceId')).toMatchObject(repeatList);
    expect(parameter(ess.AttachInstances, 'InstanceIds')).toMatchObject(repeatList);
  });

  it('knows lists of structs and single structs', () => {
    expect(parameter(ecs.RunInstances, 'DataDisk')).toMatchObject({
      type: 'array',
      style: 'repeat',
      maxItems: 16,
    });
    expect(parameter(ecs.RunInstances, 'DataDisk.Size')).toMatchObject({ key: 'size', type: 'integer' });
    expect(parameter(ecs.RunInstances, 'SystemDisk')).toMatchObject({ type: 'object' });
    expect(parameter(ecs.RunInstances, 'SystemDisk')).not.toHaveProperty('style');
    expect(parameter(ecs.RunInstances, 'SystemDisk.Size')).toMatchObject({ type: 'string' });
    expect(parameter(ecs.DescribeInstances, 'Filter.Key')).toMatchObject({ type: 'string' });
    expect(parameter(ecs.AuthorizeSecurityGroup, 'Permissions.PortRange')).toMatchObject({ type: 'string' });
    expect(parameter(ess.CreateScalingGroup, 'LifecycleHooks.HeartbeatTimeout')).toMatchObject({
      type: 'integer',
    });
    expect(parameter(ess.CreateScalingConfiguration, 'SystemDisk.Size')).toMatchObject({ type: 'integer' });
  });

  it('takes shrunk parameters as JSON or comma texts', () => {
    expect(parameter(ecs.RunCommand, 'Parameters')).toMatchObject({ type: 'any', style: 'json' });
    expect(parameter(ecs.StartTerminalSession, 'EncryptionOptions')).toMatchObject({
      type: 'object',
      style: 'json',
    });
    expect(parameter(ram.TagResources, 'Tag')).toMatchObject({ type: 'array', style: 'json' });
    expect(parameter(vpc.GrantInstanceToVbr, 'VbrInstanceIds')).toMatchObject({
      type: 'array',
      style: 'comma',
    });
  });
});

describe('what is known of a parameter', () => {
  const requiredOf = (action: { table: () => ActionTable }) =>
    action
      .table()
      .request.filter((field) => field.required)
      .map((field) => field.wire);

  it('says which are required', () => {
    expect(requiredOf(ecs.RunInstances)).toEqual(['RegionId']);
    expect(requiredOf(ecs.StopInstance)).toEqual(['InstanceId']);
    expect(requiredOf(ecs.AttachDisk)).toEqual(['DiskId', 'InstanceId']);
    expect(requiredOf(ecs.ReleaseCapacityReservation)).toEqual(['PrivatePoolOptions', 'RegionId']);
    expect(requiredOf(vpc.CreateVSwitch)).toEqual(['VpcId', 'ZoneId']);
    expect(requiredOf(ram.AttachPolicyToUser)).toEqual(['PolicyName', 'PolicyType', 'UserName']);
    expect(requiredOf(ram.UpdateUser)).toEqual(['UserName']);
    expect(requiredOf(sts.AssumeRole)).toEqual(['RoleArn', 'RoleSessionName']);
    expect(requiredOf(sts.GetCallerIdentity)).toEqual([]);
  });

  it('marks the actions that come unsigned', () => {
    expect(sts.AssumeRoleWithOIDC.table().anonymous).toBe(true);
    expect(sts.AssumeRole.table().anonymous).toBeUndefined();
  });

  it('carries limits and number types', () => {
    expect(parameter(ecs.DescribeInstances, 'PageSize')).toMatchObject({ minimum: 1, maximum: 100 });
    expect(parameter(ecs.RunInstances, 'Tag')).not.toHaveProperty('minimum');
    expect(parameter(ecs.RunInstances, 'SpotPriceLimit')).toMatchObject({ type: 'float' });
    expect(parameter(ecs.RunInstances, 'LaunchTemplateVersion')).toMatchObject({ type: 'long' });
    expect(parameter(ecs.RunInstances, 'OwnerId')).toMatchObject({ type: 'long' });
    expect(parameter(ecs.ModifyInstanceSpec, 'ModifyMode')).toMatchObject({ enum: ['Online', 'Offline'] });
  });

  it('knows documented error codes with their status', () => {
    expect(ecs.StopInstance.table().errors).toMatchObject({
      IncorrectInstanceStatus: 403,
      'InvalidInstanceId.NotFound': 404,
    });
    expect(ecs.RunInstances.table().errors['InvalidSecurityGroupId.NotFound']).toBe(404);
    expect(ecs.RunInstances.table().errors['OperationDenied.NoStock']).toBe(403);
  });
});

describe('responses', () => {
  it('keep the double wrapping of old lists and have no request id', () => {
    const response = ecs.DescribeInstances.table().response;
    expect(fieldAt(response, 'Instances.Instance.InstanceId')).toMatchObject({ type: 'string' });
    expect(fieldAt(response, 'Instances.Instance.Tags.Tag.TagKey')).toMatchObject({ key: 'tagKey' });
    expect(response.map((field) => field.wire)).not.toContain('RequestId');
    expect(fieldAt(ess.DescribeScalingGroups.table().response, 'ScalingGroups')).toMatchObject({
      type: 'array',
    });
  });
});

describe('looking actions up', () => {
  it('counts the actions of each product', () => {
    const counts = Object.fromEntries(productNames.map((product) => [product, listActions(product).length]));
    expect(counts).toEqual({ ecs: 380, vpc: 403, ram: 66, sts: 4, ess: 84, location: 1, bssopenapi: 1 });
  });

  it('finds by exact name and shares the parsed table', () => {
    expect(findAction('ecs', 'RunInstances')).toMatchObject({ product: 'ecs', version: productVersions.ecs });
    expect(findAction('ecs', 'RunInstances')?.table()).toBe(ecs.RunInstances.table());
    expect(findAction('ecs', 'runInstances')).toBeUndefined();
    expect(findAction('sts', 'constructor')).toBeUndefined();
    expect(findAction('vpc', 'UnTagResources')).toBeDefined();
    expect(findAction('ecs', 'UntagResources')).toBeDefined();
  });

  it('parses every table', () => {
    for (const product of productNames) {
      for (const name of listActions(product)) {
        expect(findAction(product, name)?.table().methods.length).toBeGreaterThan(0);
      }
    }
  });
});
