import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

// Apart from the suite without hints, so that the two run side by side.

const prefix = `he "ard'`

describeWorkflowStore(
  'PostgreSQL with a listener on each connection',
  () => openPostgres({ prefix, hints: true }),
  { describe, expect, test },
)
