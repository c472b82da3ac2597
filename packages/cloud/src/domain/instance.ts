import type { ErrorCode, Fail } from './errors.js';

/**
 * What a client sees an instance to be. `Deleted` is never shown: it is the state between the answer of
 * DeleteInstance and the moment when nothing is left of the instance on its host.
 */
export type InstanceStatus = 'Pending' | 'Starting' | 'Running' | 'Stopping' | 'Stopped' | 'Deleted';

export const visibleInstanceStatuses = ['Pending', 'Starting', 'Running', 'Stopping', 'Stopped'] as const;

/** Whether a stopped instance keeps its place on the host (and is billed) or gives it back. */
export type StoppedMode = 'KeepCharging' | 'StopCharging';

/**
 * The one transition table. Requests move an instance into the states in which a loop works on it
 * (Pending, Starting, Stopping, Deleted); only the loop moves it out of them.
 */
const transitions: Readonly<Record<InstanceStatus, readonly InstanceStatus[]>> = {
  Pending: ['Starting', 'Running', 'Stopped', 'Deleted'],
  Starting: ['Running', 'Stopped'],
  Running: ['Starting', 'Stopping', 'Stopped', 'Deleted'],
  Stopping: ['Stopped', 'Running'],
  Stopped: ['Starting', 'Running', 'Deleted'],
  Deleted: [],
};

/** Raises when a state change is not in the table: a defect of ours, never of a client. */
export function assertTransition(from: InstanceStatus, to: InstanceStatus): void {
  if (from !== to && !transitions[from].includes(to)) {
    throw new Error(`an instance cannot go from ${from} to ${to}`);
  }
}

/** Ends the request unless the instance is in one of the states that it needs. */
export function requireStatus(
  instance: { readonly id: string; readonly status: InstanceStatus },
  needed: readonly InstanceStatus[],
  fail: Fail<'IncorrectInstanceStatus'>,
): void {
  if (!needed.includes(instance.status)) {
    fail('IncorrectInstanceStatus', {
      id: instance.id,
      status: instance.status,
      needed: needed.join(' or '),
    });
  }
}

const malformedName = /^https?:\/\//i;

/** The rule for names and descriptions of nearly every resource. */
export function isWellFormedName(name: string, minLength = 2, maxLength = 128): boolean {
  return name.length >= minLength && name.length <= maxLength && !malformedName.test(name);
}

const passwordClasses = [/[A-Z]/, /[a-z]/, /\d/, /[()`~!@#$%^&*\-_+=|{}[\]:;'<>,.?/]/];

/** 8 to 30 characters of at least three classes (RunInstances, parameter Password). */
export function isWellFormedPassword(password: string): boolean {
  if (password.length < 8 || password.length > 30) return false;
  if (!/^[\x21-\x7e]+$/.test(password)) return false;
  return passwordClasses.filter((form) => form.test(password)).length >= 3;
}

/**
 * Linux host names: 2 to 64 characters, parts of letters, digits and hyphens joined by dots, no dot or
 * hyphen at an end or twice in a row (RunInstances, parameter HostName).
 */
export function checkHostName(
  name: string,
  fail: Fail<Extract<ErrorCode, 'InvalidHostName.Malformed'>>,
): void {
  if (name.length < 2 || name.length > 64) {
    fail('InvalidHostName.Malformed', { name, reason: 'it has 2 to 64 characters.' });
  }
  if (!/^[a-zA-Z0-9]+([.-][a-zA-Z0-9]+)*$/.test(name)) {
    fail('InvalidHostName.Malformed', {
      name,
      reason: 'letters, digits, single hyphens and dots, none of them at an end.',
    });
  }
}

/**
 * Names for `amount` instances. `name[begin,bits]suffix` counts by its own pattern (`web-[9,3]-a` gives
 * web-009-a, web-010-a, …); otherwise `uniqueSuffix` appends 001, 002, … (RunInstances, InstanceName).
 */
export function numberedNames(pattern: string, amount: number, uniqueSuffix: boolean): string[] {
  const match = /^(.*)\[(\d{0,6}),(\d?)\](.*)$/.exec(pattern);
  if (match) {
    const [, prefix = '', begin = '', bits = '', suffix = ''] = match;
    const first = begin === '' ? 0 : Number(begin);
    const width = bits === '' ? 6 : Number(bits);
    return Array.from(
      { length: amount },
      (_, index) => `${prefix}${String(first + index).padStart(width, '0')}${suffix}`,
    );
  }
  if (uniqueSuffix && amount > 1) {
    return Array.from({ length: amount }, (_, index) => `${pattern}${String(index + 1).padStart(3, '0')}`);
  }
  return Array.from({ length: amount }, () => pattern);
}
