import { describe, expect, test } from 'vitest'
import { encrypted, openSqlite } from '../../test/support/store-under-test.ts'
import { describeWorkflowStore } from '../testing/workflow-store-contract.ts'

const runner = { describe, expect, test }

describeWorkflowStore(
  'SQLite file behind encryption',
  async () => encrypted(await openSqlite()),
  runner,
)
