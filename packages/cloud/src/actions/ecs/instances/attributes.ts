import type { Fail } from '../../../domain/errors.js';

/** User data is at most 32 KB before Base64 (RunInstances, parameter UserData). */
const maxUserDataBytes = 32 * 1024;

/** Ends the request unless the text is Base64 of at most 32 KB. */
export function checkUserData(
  userData: string,
  fail: Fail<'InvalidUserData.Base64FormatInvalid' | 'InvalidUserData.SizeExceeded'>,
): void {
  // Packer and libcloud break long Base64 into lines.
  const text = userData.replace(/\s+/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    fail('InvalidUserData.Base64FormatInvalid');
  }
  if (Buffer.from(text, 'base64').length > maxUserDataBytes) fail('InvalidUserData.SizeExceeded');
}

const earliestReleaseMs = 30 * 60 * 1000;
const latestReleaseMs = 3 * 366 * 24 * 60 * 60 * 1000;

/** `yyyy-MM-ddTHH:mm:ssZ`, half an hour to three years from now (RunInstances, parameter AutoReleaseTime). */
export function checkAutoReleaseTime(
  time: string,
  now: Date,
  fail: Fail<'InvalidAutoReleaseTime.Malformed'>,
): void {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) {
    fail('InvalidAutoReleaseTime.Malformed', { time, reason: 'its form is yyyy-MM-ddTHH:mm:ssZ.' });
  }
  const left = at - now.getTime();
  if (left < earliestReleaseMs || left > latestReleaseMs) {
    fail('InvalidAutoReleaseTime.Malformed', { time, reason: 'it is half an hour to three years from now.' });
  }
}

/** The switches of the metadata service (RunInstances, ModifyInstanceMetadataOptions). */
export function checkMetadataOptions(
  options: {
    readonly httpEndpoint?: string | undefined;
    readonly httpTokens?: string | undefined;
    readonly httpPutResponseHopLimit?: number | undefined;
  },
  fail: Fail<
    | 'InvalidHttpEndpoint.NotSupported'
    | 'InvalidHttpTokens.NotSupported'
    | 'InvalidHttpPutResponseHopLimit.NotSupported'
  >,
): void {
  const { httpEndpoint, httpTokens, httpPutResponseHopLimit: hopLimit } = options;
  if (httpEndpoint !== undefined && !['enabled', 'disabled'].includes(httpEndpoint)) {
    fail('InvalidHttpEndpoint.NotSupported');
  }
  if (httpTokens !== undefined && !['optional', 'required'].includes(httpTokens)) {
    fail('InvalidHttpTokens.NotSupported');
  }
  if (hopLimit !== undefined && (hopLimit < 1 || hopLimit > 64)) {
    fail('InvalidHttpPutResponseHopLimit.NotSupported');
  }
}
