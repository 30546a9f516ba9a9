import type { Iid, WorkflowName } from '../../store/instances.ts'
import type { StoreInTransaction } from '../../store/transactions.ts'
import { start } from '../operations/commit.ts'
import { history } from '../operations/history.ts'
import { find } from '../operations/look.ts'
import { post } from '../operations/post.ts'
import { reserve, workflowNumbers } from '../operations/runtimes.ts'
import type { StorePlace } from '../file/store-place.ts'
import { userTransaction } from './user-transaction.ts'

/** The store of this file inside `tx`; throws a `TypeError` if that is not a supported handle. */
export function withinTransaction(
  place: StorePlace,
  tx: unknown,
  clockOffsetMs: number,
): StoreInTransaction {
  const { within, ended } = userTransaction(place, tx, () => clockOffsetMs)
  return {
    ...(ended && { ended }),
    numbers: async (workflow: WorkflowName | null): Promise<{ iid: Iid; workflow: number }> =>
      within((inside) => ({
        iid: reserve(inside, 1),
        workflow: workflow === null ? 0 : workflowNumbers(inside, [workflow])[0]!,
      })),
    reads: {
      find: async (ids) => within((inside) => find(inside, ids)),
      history: async (iid, execution) => within((inside) => history(inside, iid, execution)),
    },
    start: async (items) => within((inside) => start(inside, items)),
    post: async (posts) => within((inside) => post(inside, posts)),
  }
}
