import {
  fillParameters,
  findParameterNames,
  isBuiltIn,
  readBuiltInName,
} from '../../../domain/commandParameters.js';
import type { ErrorCode, Fail } from '../../../domain/errors.js';

/** Sizes of a script after Base64, in KB: one that is kept, and one that is only run (RunCommand). */
export const maxKeptKB = 18;
export const maxRunKB = 24;

const maxNames = 20;
const maxValues = 10;
const maxNameLength = 64;

export const scriptErrors = [
  'CmdContent.DecodeError',
  'CmdContent.ExceedLimit',
  'CmdDesc.ExceedLimit',
  'CmdName.ExceedLimit',
  'CmdParam.EmptyKey',
  'CmdParam.InvalidParamName',
  'CmdParamCount.ExceedLimit',
  'CmdParamName.ExceedLimit',
  'InvalidCmdType.NotFound',
  'InvalidParameter.WorkingDir',
  'InvalidParameterCharacter.CommandDescription',
  'InvalidParameterCharacter.CommandName',
  'InvalidParameterCharacter.CommandWorkingDir',
] as const satisfies readonly ErrorCode[];

type ScriptError = (typeof scriptErrors)[number];

/** Line breaks and tabs are fine in a description, nothing else of the kind is anywhere. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Whether a text can be a name or path in a command line. */
export function hasControlCharacters(text: string): boolean {
  return controlCharacter.test(text) || /[\t\r\n]/.test(text);
}

/** Takes Base64 apart; `undefined` when it is none. */
export function decodeBase64(text: string): Buffer | undefined {
  const compact = text.replace(/\s/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  return Buffer.from(compact, 'base64');
}

/** Ends the request unless the bytes have at most so many KB after Base64. */
export function checkContentSize(
  content: Uint8Array,
  limit: number,
  fail: Fail<'CmdContent.ExceedLimit'>,
): void {
  if (Math.ceil(content.length / 3) * 4 > limit * 1024) fail('CmdContent.ExceedLimit', { limit });
}

/** The texts around a script (CreateCommand, ModifyCommand, RunCommand). */
export function checkTexts(
  texts: {
    readonly name?: string | undefined;
    readonly description?: string | undefined;
    readonly workingDir?: string | undefined;
  },
  fail: Fail<Extract<ScriptError, `CmdName.${string}` | `CmdDesc.${string}` | `InvalidParameter${string}`>>,
): void {
  const { name = '', description = '', workingDir = '' } = texts;
  if (name.length > 128) fail('CmdName.ExceedLimit', { limit: 128 });
  if (hasControlCharacters(name)) fail('InvalidParameterCharacter.CommandName');
  if (description.length > 512) fail('CmdDesc.ExceedLimit', { limit: 512 });
  if (controlCharacter.test(description)) fail('InvalidParameterCharacter.CommandDescription');
  if (workingDir.length > 200) fail('InvalidParameter.WorkingDir', { limit: 200 });
  if (hasControlCharacters(workingDir)) fail('InvalidParameterCharacter.CommandWorkingDir');
}

/** A time-out in seconds: a minute unless told otherwise, a day at most (InvokeCommand, parameter Timeout). */
export function readTimeout(timeout: number | undefined, fail: Fail<'InvalidParameter'>): number {
  const seconds = timeout ?? 60;
  if (seconds < 10 || seconds > 86_400) {
    fail('InvalidParameter', { parameter: 'Timeout', reason: 'it is not between 10 and 86400 seconds.' });
  }
  return seconds;
}

/** A script as a request gives it, checked. */
export function readScript(
  input: {
    readonly commandContent: string;
    readonly enableParameter?: boolean | undefined;
  },
  isBase64: boolean,
  limitKB: number,
  fail: Fail<ScriptError>,
): { readonly content: Buffer; readonly parameterNames: readonly string[] } {
  const content = isBase64
    ? (decodeBase64(input.commandContent) ?? fail('CmdContent.DecodeError'))
    : Buffer.from(input.commandContent);
  checkContentSize(content, limitKB, fail);
  return {
    content,
    parameterNames: input.enableParameter === true ? readParameterNames(content.toString(), fail) : [],
  };
}

/** Ends the request unless there is such a type of commands. */
export function checkType(type: string, fail: Fail<'InvalidCmdType.NotFound'>): void {
  if (!['RunShellScript', 'RunBatScript', 'RunPowerShellScript'].includes(type)) {
    fail('InvalidCmdType.NotFound', { type });
  }
}

/** Ends the request unless instances, which all run Linux, can run commands of this type. */
export function checkTypeRuns(type: string, fail: Fail<'InvalidInstance.NotMatch'>): void {
  if (type !== 'RunShellScript') fail('InvalidInstance.NotMatch', { type });
}

/** The user's own parameters of a script, checked (RunCommand, parameter CommandContent). */
function readParameterNames(content: string, fail: Fail<ScriptError>): string[] {
  const own: string[] = [];
  for (const name of findParameterNames(content)) {
    if (name === '') fail('CmdParam.EmptyKey');
    const builtIn = readBuiltInName(name);
    if (builtIn !== undefined) {
      if (!isBuiltIn(builtIn)) fail('CmdParam.InvalidParamName', { name });
      continue;
    }
    if (name.length > maxNameLength) fail('CmdParamName.ExceedLimit', { limit: maxNameLength });
    if (!/^[\w-]+$/.test(name)) fail('CmdParam.InvalidParamName', { name });
    own.push(name);
  }
  if (own.length > maxNames) fail('CmdParamCount.ExceedLimit', { limit: maxNames });
  return own;
}

export const parameterErrors = [
  'CmdContent.ExceedLimit',
  'Parameter.Disabled',
  'Parameter.NotMatched',
  'ParameterCount.ExceedLimit',
  'ParameterKey.Duplicate',
  'ParameterKey.ExceedLimit',
  'ParameterType.NotSupported',
] as const satisfies readonly ErrorCode[];

/** Values for a script's parameters, checked against its names (RunCommand, parameter Parameters). */
export function readParameterValues(
  given: unknown,
  script: {
    readonly content: Uint8Array;
    readonly parameterNames: readonly string[];
    readonly enabled: boolean;
  },
  limitKB: number,
  fail: Fail<(typeof parameterErrors)[number] | 'InvalidParameter'>,
): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return fail('InvalidParameter', { parameter: 'Parameters', reason: 'it is not a JSON object.' });
  }
  const entries = Object.entries(given);
  if (entries.length === 0) return {};
  if (!script.enabled) fail('Parameter.Disabled');
  if (entries.length > maxValues) fail('ParameterCount.ExceedLimit', { limit: maxValues });
  const known = new Set(script.parameterNames.map((name) => name.toLowerCase()));
  const values: Record<string, string> = {};
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    if (name === '') fail('InvalidParameter', { parameter: 'Parameters', reason: 'a name in it is empty.' });
    if (name.length > maxNameLength) fail('ParameterKey.ExceedLimit', { limit: maxNameLength });
    if (typeof value !== 'string') return fail('ParameterType.NotSupported', { name });
    if (seen.has(name.toLowerCase())) fail('ParameterKey.Duplicate', { name });
    if (!known.has(name.toLowerCase())) fail('Parameter.NotMatched', { name });
    seen.add(name.toLowerCase());
    values[name] = value;
  }
  const filled = fillParameters(Buffer.from(script.content).toString(), values, {});
  checkContentSize(Buffer.from(filled), limitKB, fail);
  return values;
}
