import { expect, test } from 'vitest'

import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Call } from '../wire/call.ts'
import { Expiry } from './expiry.ts'

/** A server that has this much to remove, a thousand each second. */
function scene(
  answers: readonly { readonly looked_at: number; readonly reached: number | null }[],
) {
  const since: unknown[] = []
  const left = [...answers]
  const call: Call = async (_, [from]) => {
    since.push(from)
    const { looked_at, reached } = left.shift() ?? { looked_at: 0, reached: null }
    return [{ looked_at: String(looked_at), reached: reached === null ? null : String(reached) }]
  }
  const clock = virtualClock()
  return { since, clock, expiry: new Expiry(call, clock) }
}

test('each call continues where the last one stopped, with an overlap once all is done', async () => {
  const { since, expiry } = scene([
    { looked_at: 1_000, reached: 500_000 },
    { looked_at: 1_000, reached: 600_000 },
    { looked_at: 10, reached: 700_000 },
    { looked_at: 0, reached: null },
  ])

  const more = [await expiry.remove(), await expiry.remove(), await expiry.remove()]
  await expiry.remove()
  await expiry.remove()

  expect(more).toEqual([true, true, false])
  expect(since).toEqual([0, 500_000, 600_000, 640_000, 640_000])
})

test('now and then, and when retentions may have changed, it starts from the beginning', async () => {
  const { since, clock, expiry } = scene([
    { looked_at: 10, reached: 700_000 },
    { looked_at: 10, reached: 800_000 },
  ])

  await expiry.remove()
  expiry.startOver()
  await expiry.remove()
  await clock.advance(601_000)
  await expiry.remove()

  expect(since).toEqual([0, 0, 0])
})
