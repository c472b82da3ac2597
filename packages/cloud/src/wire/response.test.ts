import { ecs } from '@openegs/schema';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../domain/errors.js';
import type { RequestId } from '../domain/ids.js';
import { encodeFields, errorAnswer, successAnswer } from './response.js';

const requestId = 'REQUEST' as RequestId;
const table = ecs.DescribeInstances.table().response;
const answer = {
  totalCount: 2,
  instances: {
    instance: [
      { instanceId: 'i-1', securityGroupIds: { securityGroupId: ['sg-1', 'sg-2'] }, tags: { tag: [] } },
      { instanceId: 'i-2', instanceName: 'a <b> & "c"', recyclable: false, notInTheTable: 1 },
    ],
  },
};

describe('an answer', () => {
  it('has wire names, and nothing that the table does not know', () => {
    expect(encodeFields(table, answer)).toEqual({
      TotalCount: 2,
      Instances: {
        Instance: [
          { InstanceId: 'i-1', SecurityGroupIds: { SecurityGroupId: ['sg-1', 'sg-2'] }, Tags: { Tag: [] } },
          { InstanceId: 'i-2', InstanceName: 'a <b> & "c"', Recyclable: false },
        ],
      },
    });
  });

  it('wraps lists twice in XML, with the inner name repeated', () => {
    const { body } = successAnswer('DescribeInstances', requestId, encodeFields(table, answer), 'XML');
    expect(body).toContain('<DescribeInstancesResponse><RequestId>REQUEST</RequestId>');
    expect(body).toContain(
      '<SecurityGroupIds><SecurityGroupId>sg-1</SecurityGroupId><SecurityGroupId>sg-2</SecurityGroupId></SecurityGroupIds>',
    );
    expect(body.match(/<Instance>/g)).toHaveLength(2);
    expect(body).toContain('<InstanceName>a &lt;b&gt; &amp; &quot;c&quot;</InstanceName>');
  });

  it('drops the characters that XML cannot carry', () => {
    const { body } = successAnswer('A', requestId, { Output: 'a\u0000b\u001bc\td' }, 'XML');
    expect(body).toContain('<Output>a�b�c\td</Output>');
  });
});

describe('an error', () => {
  const error = new ApiError('InvalidInstanceId.NotFound', 'There is no instance "i-1".');
  it('has the same five fields in both formats', () => {
    const json = errorAnswer(error, 404, requestId, 'host:1', 'JSON');
    expect(json.status).toBe(404);
    expect(Object.keys(JSON.parse(json.body))).toEqual([
      'RequestId',
      'HostId',
      'Code',
      'Message',
      'Recommend',
    ]);
    const xml = errorAnswer(error, 404, requestId, 'host:1', 'XML');
    expect(xml.body).toMatch(
      /<Error><RequestId>REQUEST<\/RequestId><HostId>host:1<\/HostId><Code>InvalidInstanceId.NotFound<\/Code><Message>.*<\/Message><Recommend>.*<\/Recommend><\/Error>/,
    );
  });
});
