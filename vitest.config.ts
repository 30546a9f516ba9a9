import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    // A rejection or a timer that outlives its test is a fault of the code under test.
    dangerouslyIgnoreUnhandledErrors: false,
    testTimeout: 20_000,
  },
})
