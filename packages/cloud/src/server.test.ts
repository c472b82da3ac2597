import { GetCallerIdentityResponse } from '@alicloud/sts20150401';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCloud, type TestCloud } from './testing/testCloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
});
afterAll(() => cloud.stop());

describe('a cloud', () => {
  it('knows the caller of a V3 request', async () => {
    const answer = await cloud.sts.getCallerIdentity();
    expect(answer).toBeInstanceOf(GetCallerIdentityResponse);
    expect(answer.body?.accountId).toBe(cloud.cloud.credentials.accountId);
  });
  it('answers pop-core by GET and by POST', async () => {
    const answer = await cloud.rpc().request('DescribeRegions', {}, { method: 'POST' });
    expect(answer).toMatchObject({ Regions: { Region: [{ RegionId: 'cn-hangzhou' }] } });
    expect(await cloud.rpc().request('DescribeRegions', {})).toMatchObject({ Regions: {} });
  });
});
