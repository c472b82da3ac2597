import { bssopenapi } from '@openegs/schema';
import { defineAction } from '../action.js';

/**
 * Bought instances of any product: none, as nothing is sold here. Terraform asks at its start whether this
 * may be asked at all, to tell the kind of account; its client takes an answer with a top-level Code or
 * Message for an error, so there are none.
 */
export const queryAvailableInstances = defineAction(bssopenapi.QueryAvailableInstances, {
  errors: [],
  async read({ pageNum, pageSize }) {
    return {
      success: true,
      data: { pageNum: pageNum ?? 1, pageSize: pageSize ?? 20, totalCount: 0, instanceList: [] },
    };
  },
});
