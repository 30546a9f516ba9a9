// What goes to the store together.

import { expect, test } from 'vitest'
import { queueInTime } from './support.ts'

/** A queue, and how many batches it has sent. */
async function countingBatches() {
  const under = await queueInTime<number>()
  let batches = 0
  under.trouble.afterApply = () => batches++
  return {
    ...under,
    /** How many batches this takes. */
    batchesOf: async (act: () => Promise<unknown>): Promise<number> => {
      const before = batches
      await act()
      return batches - before
    },
  }
}

const numbers = Array.from({ length: 300 }, (_, i) => i)

test('concurrent calls are one batch, even while another is under way', async () => {
  await using under = await countingBatches()
  const { queue, batchesOf } = under

  expect(await batchesOf(() => Promise.all(numbers.map((n) => queue.push(n))))).toBe(1)
  expect(await batchesOf(() => Promise.all(numbers.map((n) => queue.push(n))))).toBe(1)
})

test('calls that exceed one batch are split in two and stay in order', async () => {
  await using under = await countingBatches()
  const { queue, batchesOf } = under
  const many = Array.from({ length: 600 }, (_, i) => i)
  await queue.push(-1)

  let ids: readonly number[] = []
  const batches = await batchesOf(async () => {
    ids = await Promise.all(many.map((n) => queue.push(n)))
  })
  const taken = await Promise.all(ids.map(() => queue.take()))
  await Promise.all(taken.map((delivery) => delivery!.ack()))

  expect(batches).toBe(2)
  expect(ids).toEqual(many.map((n) => n + 1))
  expect(taken.map((delivery) => delivery!.data)).toEqual([-1, ...many.slice(0, -1)])
  expect(queue.counts).toMatchObject({ total: 1, ready: 1 })
})

test('a call that takes many messages gets them at once', async () => {
  await using under = await countingBatches()
  const { queue, batchesOf } = under
  await queue.pushMany(numbers)

  let taken = 0
  const batches = await batchesOf(async () => {
    taken = (await queue.takeMany(1_000)).length
  })

  expect([batches, taken]).toEqual([1, 300])
})
