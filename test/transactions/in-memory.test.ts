import { expect, test } from 'vitest'

import { openSpace } from '../support/engine.ts'
import { ActivityError, workflow } from '../../src/index.ts'
import { transaction } from '../../src/sqlite/index.ts'

test('a transaction on a database in memory fails at once, whatever its retry policy says', async () => {
  await using space = await openSpace('memory')
  const pay = transaction('pay', { retry: { maxAttempts: 100, delay: '1h' } }, () => 1)
  const book = workflow('book', async (_: undefined, ctx) => {
    const error = await ctx.run(pay).catch((thrown: unknown) => thrown)
    return error instanceof ActivityError ? [error.attempts, error.message] : []
  })
  const runtime = await space.open(book)

  expect(await runtime.run(book)).toEqual([
    1,
    'activity "pay" failed after 1 attempt: transaction "pay" cannot run: a transaction needs a ' +
      'database in a file; one in memory can be used by its own thread only',
  ])
})
