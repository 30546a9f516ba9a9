import { describe, expect, test } from 'vitest'
import { openPostgresOutbox } from '../../../test/support/outbox-under-test.ts'
import { describeOutboxStore } from '../../testing/outbox-store-contract.ts'

const runner = { describe, expect, test }

// The tests of the feature use a schema with a plain name.
const prefix = `we "ird'`

describeOutboxStore(
  'PostgreSQL in an oddly named schema',
  () => openPostgresOutbox({ prefix }),
  runner,
  { canOverlap: true },
)
