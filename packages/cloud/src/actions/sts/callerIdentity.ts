import { sts } from '@openegs/schema';
import { defineAction } from '../action.js';

export const getCallerIdentity = defineAction(sts.GetCallerIdentity, {
  errors: [],
  async read(_input, { caller }) {
    return {
      accountId: caller.accountId,
      arn: `acs:ram::${caller.accountId}:root`,
      identityType: 'Account',
      principalId: caller.accountId,
      userId: caller.accountId,
    };
  },
});
