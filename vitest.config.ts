import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    // Starts PostgreSQL, unless HOLDFAST_TEST_PG_URL names one.
    globalSetup: ['test/support/postgres-setup.ts'],
    // A rejection or a timer that outlives its test is a fault of the code under test.
    dangerouslyIgnoreUnhandledErrors: false,
    testTimeout: 20_000,
    // Most tests wait for a disk, a clock or another process: two at a time fit on two cores.
    maxWorkers: 2,
  },
})
