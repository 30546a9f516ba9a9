import { expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'
import { eventually, openSpace } from '../support/engine.ts'
import { freezable } from './support.ts'

/** How long it would take if each waited for a tick. */
const TICK_MS = 10_000

test('instances that two owners died with run one at a time, each after the last made progress', async () => {
  await using space = await openSpace('memory')
  const ids = Array.from({ length: 6 }, (_, i) => `order ${i}`)
  let begun = 0
  let running = 0
  let most = 0
  const charge = activity<undefined, string>('charge')
  const orders = workflow('orders', async (_: undefined, ctx) => ctx.run(charge))
  const deadly = charge.implement(() => {
    begun++
    return new Promise<string>(() => {})
  })
  for (let life = 1; life <= 2; life++) {
    const frozen = freezable(space)
    const runtime = await open(frozen.store, { register: [orders, deadly], log: space.log })
    for (const id of ids) await runtime.start(orders, undefined, { id })
    await eventually(() => begun === life * ids.length)
    await frozen.die()
    frozen.thaw()
    await runtime.close({ drain: 0 })
  }

  const mended = charge.implement(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running--
    return 'charged'
  })
  const begunMs = performance.now()
  const runtime = await space.open([orders, mended])
  const results = await Promise.all(ids.map((id) => runtime.get(orders, id).result()))

  expect(results).toEqual(ids.map(() => 'charged'))
  expect(most).toBe(1)
  expect(performance.now() - begunMs).toBeLessThan(TICK_MS)
})
