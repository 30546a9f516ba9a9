import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

const runner = { describe, expect, test }

// The tests of the engine use a schema with a plain name.
const prefix = `we "ird'`

describeWorkflowStore('PostgreSQL in an oddly named schema', () => openPostgres({ prefix }), runner)

// A store with hints makes the same calls: it differs in what `hints` does, in what `close` waits
// for, and inside a transaction of the user. That is tried in `test/notifier` and
// `test/transactions`, always; the whole suite takes as long again and finds what else there may be.
if (process.env['HOLDFAST_STORES'] === 'all') {
  describeWorkflowStore(
    'PostgreSQL with a listener on each connection',
    () => openPostgres({ prefix, hints: true }),
    runner,
  )
}
