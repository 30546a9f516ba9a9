// SQLite on a disk whose fsync takes longer than that of this machine.
//
// In the thread that has the file open, each commit of a write transaction is followed by a pause,
// because it makes one fsync (WAL, synchronous = full), and each checkpoint by two of them, because
// it makes two (the WAL, then the file). The thread does nothing else meanwhile, as in an fsync.

import { Worker } from 'node:worker_threads'

import type { Store } from '../build/index.js'
import { sqliteSettings } from '../build/sqlite/connect/options.js'
import { threadEntry } from '../build/sqlite/thread/thread-entry.js'
import { SqliteThread } from '../build/sqlite/thread/thread.js'
import { SqliteWorkflowStore } from '../build/sqlite/workflow-store.js'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../build/store/store.js'
import { sqliteClass } from './sqlite-class.ts'

/** A store in a file, where each fsync takes `ms` longer. */
export function slowSqlite(path: string, ms: number): Store {
  const settings = sqliteSettings({ path })
  const handle: StoreHandle = {
    kind: 'sqlite',
    [OPEN_WORKFLOW_STORE]: () =>
      new SqliteWorkflowStore(
        new SqliteThread(settings, (given) => {
          const [script, options] = threadEntry(given)
          return new Worker(`${prelude(ms)}\n${script}`, options)
        }),
      ),
  }
  return handle
}

/** Runs in the thread before anything else. */
function prelude(ms: number): string {
  return `{
    const { prototype } = ${sqliteClass()}
    const { prepare } = prototype
    const cell = new Int32Array(new SharedArrayBuffer(4))
    const pause = (fsyncs) => Atomics.wait(cell, 0, 0, fsyncs * ${ms})
    let writes = false
    prototype.prepare = function (sql) {
      const statement = prepare.call(this, sql)
      const { run, get } = statement
      if (sql === 'begin' || sql === 'begin immediate') {
        statement.run = () => {
          writes = sql === 'begin immediate'
          return run.call(statement)
        }
      } else if (sql === 'commit') {
        statement.run = () => {
          const result = run.call(statement)
          if (writes) pause(1)
          return result
        }
      } else if (sql.startsWith('pragma wal_checkpoint')) {
        statement.get = () => {
          const result = get.call(statement)
          pause(2)
          return result
        }
      }
      return statement
    }
  }`
}
