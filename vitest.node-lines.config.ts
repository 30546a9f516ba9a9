import { defineConfig } from 'vitest/config'

// What `scripts/test-node-lines.mjs` runs on other lines of Node: little, but all that differs between
// them. Nothing here needs PostgreSQL.
export default defineConfig({
  test: {
    include: [
      'src/sqlite/{any-thread,database,driver,sqlite,thread,wal-file}.test.ts',
      'test/transactions/{chosen-driver,two-libraries,within-sqlite}.test.ts',
      'examples/08-transactions/*.test.ts',
    ],
    name: `Node ${process.versions.node}`,
    testTimeout: 20_000,
    maxWorkers: 3,
  },
})
