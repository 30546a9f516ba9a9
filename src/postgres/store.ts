import {
  OPEN_HISTORY_READER,
  OPEN_WORKFLOW_STORE,
  type Store,
  type StoreHandle,
} from '../store/store.ts'
import { notifierFor } from './notifier/shared-notifier.ts'
import { type PostgresOptions, postgresSettings } from './connect/options.ts'
import { postgresHistoryReader } from './operations/history-reader.ts'
import { postgresWorkflowStore } from './workflow-store.ts'

/** A store in a PostgreSQL database, for `open` and `connect`. Connects when they need it. */
export function postgres(options?: PostgresOptions): Store {
  const settings = postgresSettings(options)
  const { listenTo, schema } = settings
  const notifier = listenTo && notifierFor(listenTo, schema)
  const handle: StoreHandle = {
    kind: 'postgres',
    [OPEN_WORKFLOW_STORE]: () => postgresWorkflowStore(settings, notifier),
    [OPEN_HISTORY_READER]: () => postgresHistoryReader(settings),
  }
  return handle
}
