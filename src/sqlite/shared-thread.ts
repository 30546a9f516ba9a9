import type { SqliteSettings } from './connect/options.ts'
import { SqliteThread } from './thread/thread.ts'
import { SqliteWorkflowStore } from './workflow-store.ts'

/**
 * Makes workflow stores that use one thread, and so one connection, as long as any of them is
 * open. That is also what lets two of them see the same database in memory.
 */
export function sharedThread(settings: SqliteSettings): () => SqliteWorkflowStore {
  let thread: SqliteThread | undefined
  let users = 0
  return () => {
    thread ??= new SqliteThread(settings)
    users++
    const used = thread
    return new SqliteWorkflowStore(used, async () => {
      if (--users > 0) return
      thread = undefined
      await used.close()
    })
  }
}
