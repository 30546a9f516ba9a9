import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

// What `scripts/test-node-lines.mjs` runs on other lines of Node: little, but all that differs between
// them. Nothing here needs PostgreSQL.
const FILES = [
  'src/sqlite/connect/driver.test.ts',
  'src/sqlite/file/database.test.ts',
  'src/sqlite/file/wal-file.test.ts',
  'src/sqlite/outbox/outbox-store.contract.test.ts',
  'src/sqlite/outbox/transact.test.ts',
  'src/sqlite/sqlite.test.ts',
  'src/sqlite/thread/any-thread.test.ts',
  'src/sqlite/thread/thread.test.ts',
  'test/transactions/chosen-driver.test.ts',
  'test/transactions/two-libraries.test.ts',
  'test/transactions/within-sqlite.test.ts',
  'examples/08-transactions/transactions.test.ts',
]

// A file that was moved would no longer run, and nothing would say so.
const missing = FILES.filter((file) => !existsSync(new URL(file, import.meta.url)))
if (missing.length > 0) throw new Error(`vitest.node-lines.config.ts: no ${missing.join(', no ')}`)

export default defineConfig({
  test: {
    include: FILES,
    name: `Node ${process.versions.node}`,
    testTimeout: 60_000,
    maxWorkers: 2,
  },
})
