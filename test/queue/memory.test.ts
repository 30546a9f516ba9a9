// Pushes that are answered before they are written.

import { describe, expect, test } from 'vitest'
import { queueFile, queueInTime, takeAll } from './support.ts'

describe('durability `memory`', () => {
  test('answers before anything is written, and close() writes it', async () => {
    await using file = queueFile()
    let queue = await file.open<number>({ durability: 'memory' })
    const items = Array.from({ length: 2_500 }, (_, i) => i)

    const ids = await Promise.all(items.map((item) => queue.push(item)))
    expect(ids).toEqual(items)
    expect(queue.counts.total).toBe(2_500)
    expect(await queue.get(2_499)).toMatchObject({ data: 2_499 })
    queue = await file.reopen(queue, { durability: 'memory' })

    expect(queue.counts.ready).toBe(2_500)
    // The rest of a block is not used again.
    expect(await queue.push(-1)).toBe(3_000)
  })

  test('asks the store first where only that can tell', async () => {
    await using file = queueFile()
    const queue = await file.open<string>({ durability: 'memory' })

    const first = await queue.push('a', { dedupeKey: 'k' })
    const again = await queue.push('a', { dedupeKey: 'k' })

    expect(again).toBe(first)
    expect(queue.counts.total).toBe(1)
  })

  test('close() writes also what waits for its id', async () => {
    await using file = queueFile()
    let queue = await file.open<string>({ durability: 'memory' })
    const pushed = queue.push('x')

    queue = await file.reopen(queue)

    expect(await takeAll(queue)).toEqual(['x'])
    expect(await pushed).toBe(0)
  })

  test('ids grow with every push, whatever the store has to be asked about', async () => {
    await using file = queueFile()
    const queue = await file.open<string>({ durability: 'memory' })

    const ids = [
      await queue.push('1', { key: 'k' }),
      await queue.push('2', { key: 'k', dedupeKey: 'd' }),
      await queue.push('3', { key: 'k' }),
      await queue.push('4', { key: 'k', delay: 1 }),
      ...(await queue.pushMany(Array.from({ length: 1_500 }, () => 'many'))),
      await queue.push('5', { key: 'k' }),
    ]
    const concurrent = await Promise.all([
      queue.push('6', { key: 'k' }),
      queue.push('7', { key: 'k', dedupeKey: 'e' }),
      queue.pushMany(['8', '9'], { key: 'k', dedupeKey: 'f' }),
      queue.push('10', { key: 'k' }),
    ])
    ids.push(...concurrent.flat())

    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(ids.length)
    const got: string[] = []
    while (got.length < 10) {
      const delivery = (await queue.take({ timeout: '20s' }))!
      if (delivery.data !== 'many') got.push(delivery.data)
      await delivery.ack()
    }
    expect(got).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
  })

  test('what was pushed can be removed at once', async () => {
    await using file = queueFile()
    const queue = await file.open<string>({ durability: 'memory' })

    const id = await queue.push('x')

    expect(await queue.remove([id])).toBe(1)
    expect(await queue.get(id)).toBeUndefined()
    expect(queue.isEmpty).toBe(true)
  })

  test('the order stays when the file was busy for a while', async () => {
    await using under = await queueInTime<number>({ durability: 'memory' })
    const { queue, trouble } = under
    // It has its ids from now on.
    await queue.push(-1)
    await under.pass(10)

    trouble.busyCalls = 1
    const items = Array.from({ length: 900 }, (_, i) => i + 1)
    for (const item of items) await queue.push(item, { key: item % 100 === 0 ? 'k' : 'other' })
    await under.pass(1_000)

    const got: number[] = []
    for await (const delivery of queue.consume()) {
      if (delivery.data % 100 === 0) got.push(delivery.data)
      await delivery.ack()
      if (queue.isEmpty) break
    }
    expect(got).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900])
  })

  test('close() says when something could not be written', async () => {
    const under = await queueInTime<string>({ durability: 'memory' })
    const { queue, trouble } = under
    await queue.push('kept')
    await under.pass(10)

    const pushed = queue.push('lost')
    trouble.busyCalls = 1

    await expect(queue.close()).rejects.toMatchObject({ code: 'busy' })
    expect(await pushed).toBe(1)
  })
})
