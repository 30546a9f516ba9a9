import {
  OPEN_HISTORY_READER,
  OPEN_WORKFLOW_STORE,
  type Store,
  type StoreHandle,
} from '../store/store.ts'
import { type SqliteOptions, sqliteSettings } from './connect/options.ts'
import { sqliteHistoryReader } from './history-reader.ts'
import { sharedThread } from './shared-thread.ts'

/** A store in one file, for `open` and `connect`. Nothing is opened before they need it. */
export function sqlite(options: SqliteOptions): Store {
  const settings = sqliteSettings(options)
  const handle: StoreHandle = {
    kind: 'sqlite',
    [OPEN_WORKFLOW_STORE]: sharedThread(settings),
    [OPEN_HISTORY_READER]: () => sqliteHistoryReader(settings),
  }
  return handle
}
