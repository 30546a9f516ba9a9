import { OPEN_WORKFLOW_STORE, type Store, type StoreHandle } from '../store/store.ts'
import { type SqliteOptions, sqliteSettings } from './connect/options.ts'
import { sharedThread } from './shared-thread.ts'

/** A store in one file, for `open` and `connect`. Nothing is opened before they need it. */
export function sqlite(options: SqliteOptions): Store {
  const workflowStore = sharedThread(sqliteSettings(options))
  const handle: StoreHandle = { kind: 'sqlite', [OPEN_WORKFLOW_STORE]: workflowStore }
  return handle
}
