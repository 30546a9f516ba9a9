import { expect, test } from 'vitest'
import { LIMIT_MS, runExample, STORES, WELL } from '../../test/support/example.ts'

// The binder that loses the race would take a minute: that this is over sooner shows that it was
// called off.
test.each(STORES)(
  '%s, an album is made of many things at once',
  { timeout: LIMIT_MS },
  async (_, open) => {
    using store = open()

    const { lines, ...end } = await runExample('04-fan-out', store.url)

    expect(end).toEqual(WELL)
    expect(lines.toSorted()).toEqual([
      '  Cheap & Daughters need not answer any more',
      'at most 3 were developed at once',
      'bound by fast, for 1620 cents in all',
      'prints: beach.png boat.png cat.png dinner.png dune.png gull.png pier.png sunset.png',
    ])
  },
)
