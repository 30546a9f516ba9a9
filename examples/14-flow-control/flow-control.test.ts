import { expect, test } from 'vitest'
import { LIMIT_MS, runExample, sqliteFile, WELL } from '../../test/support/example.ts'

test(
  'two of a customer run at a time, others do not wait for them, and the urgent one comes first',
  { timeout: LIMIT_MS },
  async () => {
    using store = sqliteFile()

    const ended = await runExample('14-flow-control', store.url)

    expect(ended).toEqual({
      ...WELL,
      lines: [
        'tiny-1: done',
        `acme-3: scheduled, waits for its workflow's limit of 2 at a time for key "acme"`,
        'acme-1: done',
        'acme-urgent: done',
        'acme-2: done',
        'acme-3: done',
        'acme-4: done',
        'of those that waited, acme-urgent began first',
      ],
    })
  },
)
