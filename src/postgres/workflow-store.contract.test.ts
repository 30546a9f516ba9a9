import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

const runner = { describe, expect, test }

// The tests of the engine use a schema with a plain name.
const prefix = `we "ird'`

describeWorkflowStore('PostgreSQL in an oddly named schema', () => openPostgres({ prefix }), runner)
