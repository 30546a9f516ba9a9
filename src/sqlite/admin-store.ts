import type { AdminStore } from '../store/admin-store.ts'
import type { ArgsOf, OperationName, ResultOf } from './thread/table.ts'

/** Calls an operation of the thread. */
type Call = <Name extends OperationName>(
  operation: Name,
  ...args: ArgsOf<Name>
) => Promise<ResultOf<Name>>

/** Administration of an SQLite file. */
export function sqliteAdminStore(call: Call): AdminStore {
  return {
    search: (query, page) => call('search', query, page),
    tree: (iid, options) => call('tree', iid, options),
    executions: (iid) => call('executions', iid),
    usage: (iid) => call('usage', iid),
    removeTrees: (iids, options) => call('removeTrees', iids, options),
    prune: (request) => call('prune', request),
    depths: () => call('depths'),
    fleet: () => call('fleet'),
    findTasks: (query, page) => call('findTasks', query, page),
  }
}
