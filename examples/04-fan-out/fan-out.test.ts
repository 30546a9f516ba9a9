import { expect, test } from 'vitest'
import { LIMIT_MS, runExample, WELL } from '../../test/support/example.ts'

// The binder that loses the race would take a minute: that this is over sooner shows that it was
// cancelled.
test('an album is made of many parts in parallel', { timeout: LIMIT_MS }, async () => {
  const { lines, ...end } = await runExample('04-fan-out', 'memory:')

  expect(end).toEqual(WELL)
  expect(lines.toSorted()).toEqual([
    '  Cheap & Daughters need not answer any more',
    'at most 3 were developed at once',
    'bound by fast, for 1620 cents in all',
    'prints: beach.png boat.png cat.png dinner.png dune.png gull.png pier.png sunset.png',
  ])
})
