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

test('what is asked for at once is one batch; a pile is two where the disk is fast', async () => {
  await using under = await countingBatches()
  const { queue, batchesOf } = under

  // Nothing is known of the disk yet.
  expect(await batchesOf(() => Promise.all(numbers.map((n) => queue.push(n))))).toBe(1)
  expect(await batchesOf(() => Promise.all(numbers.map((n) => queue.push(n))))).toBe(2)
  expect(await batchesOf(() => Promise.all(numbers.slice(0, 50).map((n) => queue.push(n))))).toBe(1)
})

test('a pile that goes in two batches stays in order', async () => {
  await using under = await countingBatches()
  const { queue } = under
  await queue.push(-1)

  const ids = await Promise.all(numbers.map((n) => queue.push(n)))
  const taken = await Promise.all(ids.map(() => queue.take()))
  await Promise.all(taken.map((delivery) => delivery!.ack()))

  expect(ids).toEqual(numbers.map((n) => n + 1))
  expect(taken.map((delivery) => delivery!.data)).toEqual([-1, ...numbers.slice(0, -1)])
  expect(queue.counts).toMatchObject({ total: 1, ready: 1 })
})

test('one who takes many gets them at once, however fast the disk is', async () => {
  await using under = await countingBatches()
  const { queue, batchesOf } = under
  await queue.pushMany(numbers)

  let taken = 0
  const batches = await batchesOf(async () => {
    taken = (await queue.takeMany(1_000)).length
  })

  expect([batches, taken]).toEqual([1, 300])
})
