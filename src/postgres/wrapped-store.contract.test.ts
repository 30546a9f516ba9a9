import { describe, expect, test } from 'vitest'
import { encrypted, openPostgres } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

const runner = { describe, expect, test }

describeWorkflowStore(
  'PostgreSQL behind encryption',
  async () => encrypted(await openPostgres()),
  runner,
)
