import { OpenApiUtil } from '@alicloud/openapi-core';
import { ecs, type Field, findAction, listActions, type ProductName, vpc } from '@openegs/schema';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryInput, toSdkQuery } from '../testing/arbitraryInput.js';
import { decodeParameters } from './parameters.js';

const decode = (fields: readonly Field[], parameters: Record<string, string>) =>
  decodeParameters(fields, new Map(Object.entries(parameters)));

/** The parameters of an action by wire name, for tests that need a few of a kind. */
const fieldsOf = (product: ProductName, action: string): readonly Field[] =>
  findAction(product, action)?.table().request ?? expect.fail(`no action ${action}`);

describe('decoding parameters', () => {
  it.each([
    ['ecs', 'RunInstances'],
    ['ecs', 'DescribeInstances'],
    ['ecs', 'DescribeInstanceTypes'],
    ['ecs', 'TagResources'],
    ['ecs', 'ListTagResources'],
    ['ecs', 'AttachKeyPair'],
    ['ecs', 'RunCommand'],
    ['ecs', 'CreateLaunchTemplate'],
    ['vpc', 'CreateVpc'],
  ] as const)('takes back all that the SDK flattens: %s %s', (product, action) => {
    const fields = fieldsOf(product, action);
    fc.assert(
      fc.property(arbitraryInput(fields), (input) => {
        const parameters: Record<string, string> = OpenApiUtil.query(toSdkQuery(fields, input));
        expect(decode(fields, parameters)).toEqual(input);
      }),
      { numRuns: 30 },
    );
  });

  it('takes back inputs of every action of ECS', () => {
    for (const action of listActions('ecs')) {
      const fields = fieldsOf('ecs', action);
      for (const input of fc.sample(arbitraryInput(fields), { numRuns: 2, seed: 7 })) {
        expect(decode(fields, OpenApiUtil.query(toSdkQuery(fields, input)))).toEqual(input);
      }
    }
  });

  it('takes a list in every form that clients use', () => {
    const { request } = ecs.DescribeInstances.table();
    const ids = (parameters: Record<string, string>) =>
      decode(request, { RegionId: 'r', ...parameters })['instanceIds'];
    expect(ids({ InstanceIds: '["i-1","i-2"]' })).toEqual(['i-1', 'i-2']);
    expect(ids({ 'InstanceIds.1': 'i-1', 'InstanceIds.2': 'i-2' })).toEqual(['i-1', 'i-2']);
    const deleted = ecs.DeleteInstances.table().request;
    const repeated = (parameters: Record<string, string>) =>
      decode(deleted, { RegionId: 'r', ...parameters })['instanceId'];
    expect(repeated({ 'InstanceId.10': 'c', 'InstanceId.2': 'b', 'InstanceId.1': 'a' })).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(repeated({ InstanceId: '["a","b"]' })).toEqual(['a', 'b']);
  });

  it('closes the gaps that Packer leaves and passes over what is empty or unknown', () => {
    const { request } = ecs.RunInstances.table();
    expect(
      decode(request, {
        RegionId: 'r',
        'Tag.3.Key': 'b',
        'Tag.1.Key': 'a',
        'Tag.1.Value': '',
        'DataDisk.2.Size': '20',
        HostName: '',
        Amount: '',
        Novelty: 'x',
        'Novelty.1.Deep': 'x',
      }),
    ).toEqual({ regionId: 'r', tag: [{ key: 'a' }, { key: 'b' }], dataDisk: [{ size: 20 }] });
  });

  it('takes a structure as JSON text as well', () => {
    const { request } = ecs.RunInstances.table();
    expect(decode(request, { RegionId: 'r', SystemDisk: '{"Size":"40"}' })).toMatchObject({
      systemDisk: { size: '40' },
    });
  });

  it.each([
    [{ Amount: 'many' }, 'Amount'],
    [{ Amount: '1.5' }, 'Amount'],
    [{ DryRun: 'perhaps' }, 'DryRun'],
    [{ 'Tag.0.Key': 'a' }, 'Tag.0'],
    [{ 'Tag.x.Key': 'a' }, 'Tag.x'],
    [{ 'Tag.100000.Key': 'a' }, 'Tag.100000'],
    [{ Tag: '[{"Key":{"deep":1}}]' }, 'Tag.1.Key'],
    [{ Tag: '[1' }, 'Tag'],
    [{ SystemDisk: 'large' }, 'SystemDisk'],
    [{ SystemDisk: '[]' }, 'SystemDisk'],
  ])('refuses %j and names the parameter', (parameters, name) => {
    const { request } = ecs.RunInstances.table();
    expect(() => decode(request, { RegionId: 'r', ...(parameters as Record<string, string>) })).toThrow(
      expect.objectContaining({ code: 'InvalidParameter', message: expect.stringContaining(`"${name}"`) }),
    );
  });

  it('names a parameter that is missing, also inside a structure', () => {
    expect(() => decode(vpc.DescribeVpcs.table().request, {})).toThrow(
      expect.objectContaining({ code: 'MissingParameter', message: expect.stringContaining('"RegionId"') }),
    );
  });

  it('is not led to other objects by names like __proto__', () => {
    const { request } = ecs.RunInstances.table();
    const input = decode(request, {
      RegionId: 'r',
      '__proto__.polluted': 'x',
      'Tag.1.__proto__': 'x',
      'constructor.prototype.polluted': 'x',
      SystemDisk: '{"__proto__":{"polluted":1}}',
    });
    expect(Object.keys(input)).toEqual(expect.arrayContaining(['regionId']));
    expect('polluted' in {}).toBe(false);
  });
});
