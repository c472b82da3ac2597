import { ecs } from '@openegs/schema';
import { findInstance } from '../../store/instances.js';
import type { Transaction } from '../../store/store.js';
import type { Instance, InstanceChange } from '../../store/tables.js';
import { type ChangeContext, defineAction } from '../action.js';

/** Most instances that one request names (AttachKeyPair, parameter InstanceIds). */
const maxInstances = 50;

const errors = ['InvalidInstanceIds.ValueNotSupported', 'InvalidKeyPairName.NotFound'] as const;

interface BindingInput {
  readonly keyPairName: string;
  readonly instanceIds: readonly string[];
}

/** Why an instance was left alone; the rest of the request goes on. */
interface Problem {
  readonly code: string;
  readonly message: string;
}

/**
 * Changes each instance on its own and reports for each how it went, as AttachKeyPair and DetachKeyPair
 * do: an instance that cannot be changed does not end the request.
 */
async function changeEach(
  { keyPairName, instanceIds }: BindingInput,
  { tx, caller, regionId, fail }: ChangeContext<(typeof errors)[number]>,
  work: (instance: Instance) => Promise<Problem | undefined>,
) {
  const ids = [...new Set(instanceIds)];
  if (ids.length === 0 || ids.length > maxInstances) {
    fail('InvalidInstanceIds.ValueNotSupported', { limit: maxInstances });
  }
  const keyPair = await tx.db
    .selectFrom('keyPairs')
    .select('id')
    .where('accountId', '=', caller.accountId)
    .where('regionId', '=', regionId)
    .where('name', '=', keyPairName)
    .executeTakeFirst();
  if (!keyPair) fail('InvalidKeyPairName.NotFound', { id: keyPairName });

  const results = [];
  for (const instanceId of ids) {
    const instance = await findInstance(tx.db, caller.accountId, instanceId);
    const problem =
      instance?.regionId === regionId
        ? await work(instance)
        : { code: 'InvalidInstanceId.NotFound', message: `There is no instance "${instanceId}".` };
    results.push(
      problem
        ? { instanceId, success: 'false', ...problem }
        : { instanceId, success: 'true', code: '200', message: 'successful' },
    );
  }
  const failed = results.filter((result) => result.success === 'false').length;
  return {
    keyPairName,
    totalCount: String(results.length),
    failCount: String(failed),
    results: { result: results },
  };
}

/** Has the loop bring the new keys into the instance, and the change into the event log. */
async function updateLogin(
  tx: Transaction,
  instance: Instance,
  action: string,
  change: InstanceChange,
): Promise<void> {
  await tx.db
    .updateTable('instances')
    .set({ ...change, generation: instance.generation + 1 })
    .where('id', '=', instance.id)
    .execute();
  await tx.record({
    resourceType: 'instance',
    resourceId: instance.id,
    action,
    before: { keyPairName: instance.keyPairName },
    after: { keyPairName: change.keyPairName ?? null },
  });
  tx.wake({ kind: 'instance', id: instance.id });
}

export const attachKeyPair = defineAction(ecs.AttachKeyPair, {
  errors,
  change: (input, context) =>
    changeEach(input, context, async (instance) => {
      if (instance.status !== 'Running' && instance.status !== 'Stopped') {
        return {
          code: 'IncorrectInstanceStatus',
          message: `The instance is ${instance.status}; this needs Running or Stopped.`,
        };
      }
      if (instance.keyPairName === input.keyPairName) return undefined;
      // A key pair takes the place of the one before and ends login by password.
      await updateLogin(context.tx, instance, 'AttachKeyPair', {
        keyPairName: input.keyPairName,
        passwordHash: null,
      });
      return undefined;
    }),
});

export const detachKeyPair = defineAction(ecs.DetachKeyPair, {
  errors,
  change: (input, context) =>
    changeEach(input, context, async (instance) => {
      if (instance.keyPairName !== input.keyPairName) {
        return {
          code: 'InvalidKeyPairName.NotFound',
          message: `The key pair "${input.keyPairName}" is not bound to the instance.`,
        };
      }
      await updateLogin(context.tx, instance, 'DetachKeyPair', { keyPairName: null });
      return undefined;
    }),
});
