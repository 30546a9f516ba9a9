import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

const runner = { describe, expect, test }

describeWorkflowStore('PostgreSQL', () => openPostgres(), runner)
describeWorkflowStore(
  'PostgreSQL in an oddly named schema',
  () => openPostgres({ prefix: `we "ird'` }),
  runner,
)
