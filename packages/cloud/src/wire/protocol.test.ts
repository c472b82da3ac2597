import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RawAnswer, type RawKey, sendRaw, signV1Query, signV3Headers } from '../testing/rawRequest.js';
import { startTestCloud, type TestCloud } from '../testing/testCloud.js';

/** What the front door makes of requests, right and wrong, as they stand on the wire. */
let cloud: TestCloud;
let endpoint: string;
let host: string;
let key: RawKey;
beforeAll(async () => {
  cloud = await startTestCloud();
  ({ endpoint } = cloud.cloud);
  host = endpoint.replace('http://', '');
  key = cloud.cloud.credentials;
});
afterAll(() => cloud.stop());

const get = (parameters: Record<string, string>, as = key): Promise<RawAnswer> =>
  sendRaw(endpoint, { target: `/?${signV1Query(as, parameters)}` });
const postV3 = (
  request: Partial<Parameters<typeof signV3Headers>[1]> & { sentBody?: string } = {},
  as = key,
): Promise<RawAnswer> => {
  const signed = signV3Headers(as, { host, action: 'DescribeRegions', ...request });
  return sendRaw(endpoint, {
    method: 'POST',
    target: `/?${signed.query}`,
    headers: signed.headers,
    body: request.sentBody ?? request.body ?? '',
  });
};
const regions = { Action: 'DescribeRegions' };

describe('a request', () => {
  it('is answered in JSON when it says so, and in XML when a V1 request says nothing', async () => {
    const json = await get({ ...regions, Format: 'json' });
    expect(json).toMatchObject({ status: 200, contentType: expect.stringContaining('application/json') });
    expect(json.json).toMatchObject({ Regions: { Region: [{ RegionId: 'cn-hangzhou' }] } });
    expect(json.json['RequestId']).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/);
    const xml = await get({ ...regions, Format: '' });
    expect(xml).toMatchObject({ status: 200, contentType: expect.stringContaining('text/xml') });
    expect(xml.text).toMatch(/^<\?xml .*<DescribeRegionsResponse><RequestId>[0-9A-F-]{36}<\/RequestId>/);
    expect(xml.text).toContain('<Regions><Region><LocalName>');
  });

  it('may be a form, wholly or in part', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = signV1Query(key, regions, 'POST');
    expect(await sendRaw(endpoint, { method: 'POST', target: '/', headers, body })).toMatchObject({
      status: 200,
    });
    const [first, ...rest] = signV1Query(key, regions, 'POST').split('&');
    expect(
      await sendRaw(endpoint, { method: 'POST', target: `/?${first}`, headers, body: rest.join('&') }),
    ).toMatchObject({ status: 200 });
  });

  it('may be signed with V3, with its parameters in query or form', async () => {
    expect(await postV3({ parameters: { AcceptLanguage: 'zh-CN' } })).toMatchObject({ status: 200 });
    const form = await postV3({
      body: 'AcceptLanguage=fr',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.json).toMatchObject({ Code: 'InvalidAcceptLanguage.NotFound' });
  });

  it('may have an absolute target, as behind HTTP_PROXY', async () => {
    const target = `http://ecs.cn-hangzhou.aliyuncs.com/?${signV1Query(key, regions)}`;
    expect(await sendRaw(endpoint, { target })).toMatchObject({ status: 200 });
    expect(
      await sendRaw(endpoint, { target: `http://ecs.cn-hangzhou.aliyuncs.com?${signV1Query(key, regions)}` }),
    ).toMatchObject({ status: 200 });
  });

  it('may carry the empty parameters that Packer sends, and unknown ones', async () => {
    expect(
      await get({ ...regions, SecurityToken: '', SignatureType: '', InstanceChargeType: '', Novelty: '1' }),
    ).toMatchObject({ status: 200 });
  });
});

describe('an error', () => {
  it('has the five fields that clients print, in JSON and in XML', async () => {
    const json = await get({ Action: 'DescribeInstanceAttribute', InstanceId: 'i-unknown' });
    expect(json.status).toBe(404);
    expect(json.json).toEqual({
      RequestId: expect.stringMatching(/^[0-9A-F-]{36}$/),
      HostId: host,
      Code: 'InvalidInstanceId.NotFound',
      Message: expect.stringContaining('i-unknown'),
      Recommend: expect.any(String),
    });
    const xml = await get({ Action: 'DescribeInstanceAttribute', InstanceId: 'i-<&>', Format: 'XML' });
    expect(xml.status).toBe(404);
    expect(xml.text).toMatch(
      /<Error><RequestId>.*<\/RequestId><HostId>.*<\/HostId><Code>InvalidInstanceId.NotFound/,
    );
    expect(xml.text).toContain('i-&lt;&amp;&gt;');
  });

  it.each([
    ['DescribeRegions', '1999-01-01', 'InvalidVersion', 400],
    ['DescribeNothing', '2014-05-26', 'InvalidAction.NotFound', 404],
    ['describeRegions', '2014-05-26', 'InvalidAction.NotFound', 404],
    ['AcceptInquiredSystemEvent', '2014-05-26', 'InvalidAction.NotImplemented', 400],
  ])('is told for the action %s of version %s', async (Action, Version, Code, status) => {
    const answer = await get({ Action, Version });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ Code });
  });

  it('names a missing action or version', async () => {
    expect((await get({})).json).toMatchObject({
      Code: 'MissingParameter',
      Message: expect.stringContaining('Action'),
    });
    expect((await get({ ...regions, Version: '' })).json).toMatchObject({
      Code: 'MissingParameter',
      Message: expect.stringContaining('Version'),
    });
  });

  it('is told for other paths and methods, in the form of the API', async () => {
    for (const options of [
      { target: `/ecs?${signV1Query(key, regions)}` },
      { method: 'PUT', target: `/?${signV1Query(key, regions, 'PUT')}` },
      { method: 'DELETE', target: `/?${signV1Query(key, regions, 'DELETE')}` },
    ]) {
      const answer = await sendRaw(endpoint, options);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ Code: 'InvalidProtocol.NotSupported' });
    }
  });

  it('is told for a parameter given twice', async () => {
    const query = `${signV1Query(key, regions)}&AcceptLanguage=ja&AcceptLanguage=ja`;
    expect((await sendRaw(endpoint, { target: `/?${query}` })).json).toMatchObject({
      Code: 'InvalidParameter',
      Message: expect.stringContaining('AcceptLanguage'),
    });
  });

  it('is told for too many parameters and for a body that is too large', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const many = Array.from({ length: 3001 }, (_, index) => `P${index}=`).join('&');
    const tooMany = await sendRaw(endpoint, { method: 'POST', target: '/?Format=JSON', headers, body: many });
    expect(tooMany).toMatchObject({ status: 413, json: { Code: 'RequestTooLarge' } });
    const tooLarge = await sendRaw(endpoint, {
      method: 'POST',
      target: '/?Format=JSON',
      headers,
      body: Buffer.alloc(1024 * 1024 + 1, 'a'),
    });
    expect(tooLarge).toMatchObject({ status: 413, json: { Code: 'RequestTooLarge' } });
  });

  it('is told for headers that are too large', async () => {
    const { hostname, port } = new URL(endpoint);
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk.toString();
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(received));
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(300 * 1024)}`);
    });
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('a signature', () => {
  it('must be right, in V1 and V3, and the answer shows what was signed', async () => {
    const wrong = { ...key, accessKeySecret: 'wrong' };
    const v1 = await get(regions, wrong);
    expect(v1).toMatchObject({ status: 400, json: { Code: 'SignatureDoesNotMatch' } });
    expect(v1.json['Message']).toContain('GET&%2F&AccessKeyId%3D');
    expect(await postV3({}, wrong)).toMatchObject({ status: 400, json: { Code: 'SignatureDoesNotMatch' } });
  });

  it('covers every parameter', async () => {
    const v1 = `${signV1Query(key, regions)}&AcceptLanguage=ja`;
    expect((await sendRaw(endpoint, { target: `/?${v1}` })).json).toMatchObject({
      Code: 'SignatureDoesNotMatch',
    });
    const v3 = signV3Headers(key, { host, action: 'DescribeRegions' });
    expect(
      (await sendRaw(endpoint, { method: 'POST', target: '/?AcceptLanguage=ja', headers: v3.headers })).json,
    ).toMatchObject({ Code: 'SignatureDoesNotMatch' });
  });

  it('covers the method', async () => {
    const query = signV1Query(key, regions, 'GET');
    expect((await sendRaw(endpoint, { method: 'POST', target: `/?${query}` })).json).toMatchObject({
      Code: 'SignatureDoesNotMatch',
    });
  });

  it('of V1 cannot be turned to another action by a header', async () => {
    const headers = { 'x-acs-action': 'DescribeZones', 'x-acs-version': '2014-05-26' };
    const answer = await sendRaw(endpoint, { target: `/?${signV1Query(key, regions)}`, headers });
    expect(answer.json).toMatchObject({ Regions: {} });
  });

  it('of V3 covers the body and the headers that matter', async () => {
    expect(await postV3({ body: 'a=1', sentBody: 'a=2' })).toMatchObject({
      status: 400,
      json: { Code: 'IncompleteSignature' },
    });
    const signed = signV3Headers(key, { host, action: 'DescribeRegions' });
    const other = { ...signed.headers, 'x-acs-action': 'DescribeZones' };
    expect((await sendRaw(endpoint, { method: 'POST', target: '/', headers: other })).json).toMatchObject({
      Code: 'SignatureDoesNotMatch',
    });
    for (const name of ['x-acs-date', 'x-acs-signature-nonce', 'x-acs-content-sha256']) {
      const headers = { ...signed.headers };
      headers['authorization'] = (headers['authorization'] ?? '').replace(`${name};`, '');
      expect((await sendRaw(endpoint, { method: 'POST', target: '/', headers })).json).toMatchObject({
        Code: 'IncompleteSignature',
        Message: expect.stringContaining(name),
      });
    }
  });

  it.each(['Signature', 'SignatureNonce', 'Timestamp', 'AccessKeyId'])(
    'is not complete without %s',
    async (name) => {
      const query = signV1Query(key, regions)
        .split('&')
        .filter((pair) => !pair.startsWith(`${name}=`))
        .join('&');
      expect((await sendRaw(endpoint, { target: `/?${query}` })).json).toMatchObject({
        Code: 'IncompleteSignature',
        Message: expect.stringContaining(name),
      });
    },
  );

  it('must be of a known kind', async () => {
    expect((await get({ ...regions, SignatureMethod: 'HMAC-MD5' })).json).toMatchObject({
      Code: 'IncompleteSignature',
    });
    const headers = {
      authorization: 'Basic YTpi',
      'x-acs-action': 'DescribeRegions',
      'x-acs-version': '2014-05-26',
    };
    expect((await sendRaw(endpoint, { target: '/', headers })).json).toMatchObject({
      Code: 'IncompleteSignature',
    });
  });

  it('must be by a key that exists, and without a token that this cloud did not give', async () => {
    const unknown = { accessKeyId: 'LTAI5tUnknown', accessKeySecret: 'x' };
    expect(await get(regions, unknown)).toMatchObject({
      status: 404,
      json: { Code: 'InvalidAccessKeyId.NotFound' },
    });
    expect((await get({ ...regions, SecurityToken: 'made-up' })).json).toMatchObject({
      Code: 'InvalidSecurityToken.Malformed',
    });
    expect((await postV3({ headers: { 'x-acs-security-token': 'made-up' } })).json).toMatchObject({
      Code: 'InvalidSecurityToken.Malformed',
    });
  });

  it('is good for 15 minutes around its time, and its time must be one', async () => {
    const at = (minutes: number) => `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`;
    for (const minutes of [-14, 14])
      expect((await get({ ...regions, Timestamp: at(minutes) })).status).toBe(200);
    for (const minutes of [-16, 16]) {
      expect((await get({ ...regions, Timestamp: at(minutes) })).json).toMatchObject({
        Code: 'InvalidTimeStamp.Expired',
      });
      expect((await postV3({ headers: { 'x-acs-date': at(minutes) } })).json).toMatchObject({
        Code: 'InvalidTimeStamp.Expired',
      });
    }
    for (const Timestamp of ['yesterday', '2026-13-01T00:00:00Z', new Date().toISOString()]) {
      expect((await get({ ...regions, Timestamp })).json).toMatchObject({ Code: 'InvalidTimeStamp.Format' });
    }
  });

  it('is good once: a nonce cannot be used again, but a refused one did not use it up', async () => {
    const SignatureNonce = randomUUID();
    expect((await get({ ...regions, SignatureNonce }, { ...key, accessKeySecret: 'wrong' })).status).toBe(
      400,
    );
    expect((await get({ ...regions, SignatureNonce })).status).toBe(200);
    expect((await get({ ...regions, SignatureNonce })).json).toMatchObject({ Code: 'SignatureNonceUsed' });
  });
});

describe('/metrics', () => {
  it('counts requests by action and code, and calls of actions that are not built', async () => {
    await get({ Action: 'AcceptInquiredSystemEvent' });
    const { text } = await sendRaw(endpoint, { target: '/metrics' });
    expect(text).toMatch(
      /openegs_api_not_implemented_total\{product="ecs",action="AcceptInquiredSystemEvent"\} [1-9]/,
    );
    expect(text).toMatch(
      /openegs_api_requests_total\{product="ecs",action="DescribeRegions",code="OK"\} [1-9]/,
    );
  });
});
