import { expect, it } from 'vitest';
import { toComputeError, toUnavailable } from './engineErrors.js';

it.each([
  ['Instance not found', 404, 'not-found'],
  ['Invalid instance name: Name can only contain alphanumeric and hyphen characters', undefined, 'refused'],
  ['Image not provided for instance creation', 500, 'refused'],
  ['Failed to write backup file: open backup.yaml: disk quota exceeded', undefined, 'no-space'],
  ['Failed to set LXC config: setting cgroup item for the container failed', undefined, 'in-use'],
  ['The instance is already running', 400, 'in-use'],
  ['Instance is not running', 400, 'in-use'],
  ['Instance is busy running a "create" operation', undefined, 'in-use'],
  ['LXD daemon is shutting down', 503, 'unavailable'],
  ['not authorized', 403, 'refused'],
  ['something else', 500, 'failed'],
] as const)('takes "%s" (%s) for %s', (text, statusCode, reason) => {
  expect(toComputeError('PUT /x', text, statusCode)).toMatchObject({ reason, message: `PUT /x: ${text}` });
});

it('takes a broken connection for unavailable, and keeps its cause', () => {
  const cause = new Error('connect ENOENT');
  expect(toUnavailable('GET /1.0', cause)).toMatchObject({ reason: 'unavailable', cause });
});
