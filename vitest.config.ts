import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Files that take long, though they are short: begun last, they would run alone at the end. Vitest
// knows that by itself only where it has run before.
const LONG =
  /contract\.test\.ts$|bench-smoke|package\.test|order\.test|(cli|dashboard|e2e|leaks|stress|faults|trouble|hygiene)\/|transactions\.test|notifier\/engine/

const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId)

const ALONE = 'a process each'

const isAlone = ({ project }: TestSpecification): boolean => project.name === ALONE

// A process is kept only while the next file may share it, so those with their own go together.
const rank = (file: TestSpecification): number => (isAlone(file) ? 0 : 2) + (isLong(file) ? 0 : 1)

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is a method of vitest's
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

const TESTS = [
  'src/**/*.test.ts',
  'dashboard-ui/src/**/*.test.ts',
  'test/**/*.test.ts',
  'examples/**/*.test.ts',
]

// All others share a few processes, which load our code once: nothing of ours may notice, since
// programs too open and close many stores in one process. Hooks of a module that several files import
// would be those of the first of them, so such a module exports a function that sets them.
const ALONE_FILES = [
  // They measure the heap of their process.
  'test/leaks/**/*.test.ts',
  // A warning that a process prints once.
  'src/sqlite/connect/wal-reset-bug.test.ts',
  // They choose the SQLite of their process.
  'test/transactions/{chosen-driver,two-libraries}.test.ts',
]

const shared = {
  // Ends what hangs. Generous, so that a slow or busy machine fails no test.
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // Most tests wait for a disk, a clock or another process: three files at a time keep two cores busy. Four
  // take half a minute less, and make locks wait so long that tests of them fail now and then.
  maxWorkers: 3,
}

export default defineConfig({
  test: {
    // Starts PostgreSQL once for all, unless HOLDFAST_TEST_PG_URL names one.
    globalSetup: ['test/support/postgres-setup.ts'],
    // A rejection or a timer that outlives its test is a fault of the code under test.
    dangerouslyIgnoreUnhandledErrors: false,
    sequence: { sequencer: LongFilesFirst },
    maxWorkers: shared.maxWorkers,
    projects: [
      {
        test: {
          ...shared,
          name: ALONE,
          include: ALONE_FILES,
        },
      },
      {
        test: {
          ...shared,
          name: 'shared processes',
          include: TESTS,
          exclude: ['**/node_modules/**', ...ALONE_FILES],
          isolate: false,
          setupFiles: ['test/support/closed-runtimes.ts'],
        },
      },
    ],
  },
})
