import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Files that take long, though they are short: begun last, they would run alone at the end. Vitest
// knows that by itself only where it has run before.
const LONG =
  /contract\.test\.ts$|bench-smoke|package\.test|order\.test|(e2e|stress|faults|trouble|hygiene)\/|transactions\.test/

const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId)

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is a method of vitest's
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    // Starts PostgreSQL, unless HOLDFAST_TEST_PG_URL names one.
    globalSetup: ['test/support/postgres-setup.ts'],
    // A rejection or a timer that outlives its test is a fault of the code under test.
    dangerouslyIgnoreUnhandledErrors: false,
    testTimeout: 20_000,
    // Most tests wait for a disk, a clock or another process: three at a time fit on two cores.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
  },
})
