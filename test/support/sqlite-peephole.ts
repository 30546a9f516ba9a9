// The thread of the SQLite store with one operation more, which runs any SQL: tests reach behind the
// port with it into a database in memory, which no other connection sees.
import { OPERATIONS } from '../../src/sqlite/thread/table.ts'
import { anySql } from './any-sql.ts'

Object.assign(OPERATIONS, { sql: { mode: 'write', run: anySql } })

// Only now, when the operation is there, does it begin to listen.
import('../../src/sqlite/thread/thread-main.ts').catch((error: unknown) => {
  throw error
})
