import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { fail } from '../domain/errors.js';
import { header, type RpcRequest } from './request.js';

/** What a request says about who signed it, before the signature is checked. */
export interface SignedRequest {
  readonly accessKeyId: string;
  readonly securityToken: string | undefined;
  readonly nonce: string;
  /** As sent: `YYYY-MM-DDThh:mm:ssZ`. */
  readonly timestamp: string;
  /** Computes the expected signature and compares; raises SignatureDoesNotMatch. */
  readonly verify: (secret: string) => void;
}

/** RFC 3986: everything but letters, digits and `-_.~` is percent-encoded. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const byName = ([left]: readonly [string, string], [right]: readonly [string, string]): number =>
  left < right ? -1 : left > right ? 1 : 0;

function canonicalQuery(parameters: Iterable<readonly [string, string]>): string {
  return [...parameters]
    .sort(byName)
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .join('&');
}

function requireEqual(expected: string, sent: string, stringToSign: string): void {
  const left = Buffer.from(expected);
  const right = Buffer.from(sent);
  if (left.length !== right.length || !timingSafeEqual(left, right)) {
    fail('SignatureDoesNotMatch', { stringToSign });
  }
}

/** The string that signature version 1.0 signs, over all parameters but the signature itself. */
export function stringToSignV1(method: string, parameters: ReadonlyMap<string, string>): string {
  const signed = [...parameters].filter(([name]) => name !== 'Signature');
  return `${method}&${percentEncode('/')}&${percentEncode(canonicalQuery(signed))}`;
}

export function signV1(method: string, parameters: ReadonlyMap<string, string>, secret: string): string {
  return createHmac('sha1', `${secret}&`).update(stringToSignV1(method, parameters)).digest('base64');
}

function readV1(request: RpcRequest): SignedRequest {
  const { parameters } = request;
  const get = (name: string): string =>
    parameters.get(name) || fail('IncompleteSignature', { reason: `the parameter "${name}" is missing.` });
  const method = parameters.get('SignatureMethod') ?? 'HMAC-SHA1';
  const version = parameters.get('SignatureVersion') ?? '1.0';
  if (method !== 'HMAC-SHA1' || version !== '1.0') {
    fail('IncompleteSignature', { reason: `${method} ${version} is not HMAC-SHA1 1.0 or ACS3-HMAC-SHA256.` });
  }
  const signature = get('Signature');
  return {
    accessKeyId: get('AccessKeyId'),
    // Packer 1.6 sends `SecurityToken=` with a permanent key, and signs it.
    securityToken: parameters.get('SecurityToken') || undefined,
    nonce: get('SignatureNonce'),
    timestamp: get('Timestamp'),
    verify: (secret) =>
      requireEqual(
        signV1(request.http.method, parameters, secret),
        signature,
        stringToSignV1(request.http.method, parameters),
      ),
  };
}

const v3Algorithm = 'ACS3-HMAC-SHA256';
/** Headers that a V3 signature must cover: without them a stolen signature would fit another request. */
const v3RequiredHeaders = [
  'host',
  'x-acs-action',
  'x-acs-version',
  'x-acs-date',
  'x-acs-signature-nonce',
  'x-acs-content-sha256',
];

function readV3(request: RpcRequest, authorization: string): SignedRequest {
  const { http } = request;
  const match = /^(\S+) Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/.exec(
    authorization,
  );
  if (!match) return fail('IncompleteSignature', { reason: 'the Authorization header cannot be read.' });
  const [, algorithm, accessKeyId = '', signedHeaders = '', signature = ''] = match;
  if (algorithm !== v3Algorithm) {
    fail('IncompleteSignature', { reason: `${algorithm} is not ${v3Algorithm}.` });
  }
  const names = signedHeaders.split(';');
  for (const name of v3RequiredHeaders) {
    if (!names.includes(name)) fail('IncompleteSignature', { reason: `the header "${name}" is not signed.` });
  }
  const get = (name: string): string =>
    header(http, name) ?? fail('IncompleteSignature', { reason: `the header "${name}" is missing.` });

  const contentHash = get('x-acs-content-sha256');
  if (createHash('sha256').update(http.body).digest('hex') !== contentHash) {
    fail('IncompleteSignature', { reason: 'x-acs-content-sha256 is not the SHA-256 of the body.' });
  }
  const canonicalRequest = [
    http.method,
    request.path,
    canonicalQuery(request.query),
    ...names.map((name) => `${name}:${get(name).trim()}`),
    '',
    signedHeaders,
    contentHash,
  ].join('\n');
  const stringToSign = `${v3Algorithm}\n${createHash('sha256').update(canonicalRequest).digest('hex')}`;
  return {
    accessKeyId,
    securityToken: header(http, 'x-acs-security-token') || undefined,
    nonce: get('x-acs-signature-nonce'),
    timestamp: get('x-acs-date'),
    verify: (secret) =>
      requireEqual(createHmac('sha256', secret).update(stringToSign).digest('hex'), signature, stringToSign),
  };
}

/** Reads the signature of a request, in the dialect that it came in. */
export function readSignature(request: RpcRequest): SignedRequest {
  const authorization = header(request.http, 'authorization');
  return authorization ? readV3(request, authorization) : readV1(request);
}
