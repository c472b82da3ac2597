/** What is brought into the instances: a script to be run, or a file to be put down. */
export type InvocationKind = 'command' | 'file';

/** How a file is put down (SendFile). */
export interface FileDelivery {
  readonly contentType: 'PlainText' | 'Base64';
  readonly owner: string;
  readonly group: string;
  /** Octal digits. */
  readonly mode: string;
  readonly overwrite: boolean;
}

/** Takes up what SendFile stored. */
export function parseFileDelivery(json: string | null): FileDelivery {
  if (json === null) throw new Error('an invocation that brings a file lacks what is to be done with it');
  return JSON.parse(json) as FileDelivery;
}

/**
 * State of an invocation on one instance, in the API's words: `Invalid` the instance lacks something that it
 * names, `Aborted` it could not be sent, `Error` it broke off, `Failed` it ended with another exit code than
 * 0, `Cancelled` stopped before it began, `Terminated` stopped while it ran.
 */
export const runStatuses = [
  'Pending',
  'Running',
  'Stopping',
  'Success',
  'Failed',
  'Timeout',
  'Error',
  'Invalid',
  'Aborted',
  'Cancelled',
  'Terminated',
] as const;

export type RunStatus = (typeof runStatuses)[number];

/** States that a run leaves again. The index `invocationRunsOpen` names the same. */
export const openRunStatuses = ['Pending', 'Running', 'Stopping'] as const satisfies readonly RunStatus[];

/** State of an invocation on all of its instances together (DescribeInvocations, InvocationStatus). */
export type OverallStatus =
  | 'Pending'
  | 'Running'
  | 'Stopping'
  | 'Success'
  | 'Failed'
  | 'PartialFailed'
  | 'Stopped';

/** The older scale of the same, in which a script that failed by itself has "finished" (InvokeStatus). */
export type LegacyStatus = 'Running' | 'Stopping' | 'Finished' | 'Failed' | 'PartialFailed' | 'Stopped';

const failedStatuses: readonly RunStatus[] = ['Failed', 'Timeout', 'Error', 'Invalid', 'Aborted'];
const stoppedStatuses: readonly RunStatus[] = ['Cancelled', 'Terminated'];

/** Sums up the states of single instances. An invocation without any is nothing that was ever run. */
export function summarizeStatus(statuses: readonly RunStatus[]): OverallStatus {
  for (const open of openRunStatuses) if (statuses.includes(open)) return open;
  const failures = statuses.filter((status) => failedStatuses.includes(status)).length;
  const stops = statuses.filter((status) => stoppedStatuses.includes(status)).length;
  if (stops === statuses.length) return 'Stopped';
  if (failures === 0) return 'Success';
  return failures + stops === statuses.length ? 'Failed' : 'PartialFailed';
}

/** The state of one instance on the older scale (InstanceInvokeStatus, InvokeRecordStatus). */
export function toLegacyStatus(status: RunStatus): Exclude<LegacyStatus, 'PartialFailed'> {
  switch (status) {
    case 'Pending':
    case 'Running':
      return 'Running';
    case 'Stopping':
      return 'Stopping';
    case 'Success':
    case 'Failed':
      return 'Finished';
    case 'Timeout':
    case 'Error':
    case 'Invalid':
    case 'Aborted':
      return 'Failed';
    case 'Cancelled':
    case 'Terminated':
      return 'Stopped';
  }
}

/** The states that are this one on the older scale. */
export function runStatusesOf(legacy: LegacyStatus): RunStatus[] {
  return runStatuses.filter((status) => toLegacyStatus(status) === legacy);
}

/** Sums up the states of single instances on the older scale. */
export function summarizeLegacyStatus(statuses: readonly RunStatus[]): LegacyStatus {
  const states = statuses.map(toLegacyStatus);
  for (const open of ['Running', 'Stopping'] as const) if (states.includes(open)) return open;
  const failures = states.filter((state) => state === 'Failed').length;
  if (failures > 0) return failures === states.length ? 'Failed' : 'PartialFailed';
  return states.includes('Finished') ? 'Finished' : 'Stopped';
}

/**
 * Why a run did not end well: the documented code, and the sentence that comes with it (fields ErrorCode
 * and ErrorInfo of DescribeInvocations). Clients compare both.
 */
export const runErrors = {
  InstanceNotExists: 'the specified instance does not exists',
  InstanceReleased: 'the instance has released when create task',
  InstanceNotRunning: 'the instance is not running when create task',
  AccountNotExists: 'the specified account does not exists',
  DirectoryNotExists: 'the specified directory does not exists',
  TaskConcurrencyLimit: 'the number of concurrent tasks exceeds the maximum limit',
  ExecutionTimeout: 'the command execution has been timeout',
  ExecutionException: 'the command execution got an exception',
  ExecutionInterrupted: 'the command execution has been interrupted',
  ExitCodeNonzero: 'the command execution exit code is not zero',
  UserGroupNotExists: 'Group not exists',
  FileAlreadyExists: 'File already exists',
  FileCreateFail: 'the file creation is failed due to unknown error',
} as const;

export type RunErrorCode = keyof typeof runErrors;

/** Takes a text for one of the codes. */
export function isRunErrorCode(text: string): text is RunErrorCode {
  return Object.hasOwn(runErrors, text);
}

/** How a run ended, as it is kept. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly exitCode: number | null;
  readonly errorCode: RunErrorCode | '';
  readonly errorInfo: string;
}

/** A run that did not end well. `detail` is appended to the documented sentence. */
export function endedBy(status: RunStatus, code: RunErrorCode, detail?: string): RunEnd {
  const errorInfo = detail === undefined ? runErrors[code] : `${runErrors[code]}: ${detail}`;
  return { status, exitCode: null, errorCode: code, errorInfo };
}

/** A run whose program ended by itself. */
export function endedWith(exitCode: number): RunEnd {
  if (exitCode === 0) return { status: 'Success', exitCode, errorCode: '', errorInfo: '' };
  return { ...endedBy('Failed', 'ExitCodeNonzero'), exitCode };
}
