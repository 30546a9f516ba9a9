import { describe, expect, test } from 'vitest'

import { AGAIN, Batcher, type BatchLimits } from './batcher.ts'

/** A batcher whose batches end when the test says so. */
function held(limits?: BatchLimits<number>): {
  readonly batcher: Batcher<number, number>
  readonly batches: number[][]
  readonly finish: (error?: Error) => Promise<void>
} {
  const batches: number[][] = []
  const ends: ((error?: Error) => void)[] = []
  const batcher = new Batcher<number, number>((items) => {
    batches.push([...items])
    return new Promise((resolve, reject) => {
      ends.push((error) => (error ? reject(error) : resolve(items.map((item) => item * 2))))
    })
  }, limits)
  return {
    batcher,
    batches,
    async finish(error) {
      ends.shift()!(error)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a batcher', () => {
  test('calls made together go together, and each gets its own result', async () => {
    const { batcher, batches, finish } = held()
    const results = Promise.all([1, 2, 3].map((n) => batcher.call(n)))
    await soon()
    await finish()

    expect(await results).toEqual([2, 4, 6])
    expect(batches).toEqual([[1, 2, 3]])
  })

  test('while one batch is under way, the next one fills', async () => {
    const { batcher, batches, finish } = held()
    const first = batcher.call(1)
    await soon()
    const later = [batcher.call(2), batcher.call(3)]
    await soon()
    expect(batches).toEqual([[1]])
    await finish()
    expect(batches).toEqual([[1], [2, 3]])
    await finish()

    expect(await Promise.all([first, ...later])).toEqual([2, 4, 6])
  })

  test('a batch is no longer than allowed', async () => {
    const { batcher, batches, finish } = held({ maxItems: 2 })
    const results = Promise.all([1, 2, 3, 4, 5].map((n) => batcher.call(n)))
    await soon()
    for (let i = 0; i < 3; i++) await finish()

    expect(await results).toEqual([2, 4, 6, 8, 10])
    expect(batches).toEqual([[1, 2], [3, 4], [5]])
  })

  test('a failing batch rejects all its calls and no others', async () => {
    const { batcher, finish } = held()
    const error = new Error('no')
    const first = Promise.allSettled([batcher.call(1), batcher.call(2)])
    await soon()
    const next = batcher.call(3)
    await finish(error)
    await finish()

    expect(await first).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ])
    expect(await next).toBe(6)
  })

  test('after it was idle it works again', async () => {
    const { batcher, batches, finish } = held()
    const first = batcher.call(1)
    await soon()
    await finish()
    await first
    const second = batcher.call(2)
    await soon()
    await finish()

    expect(await second).toBe(4)
    expect(batches).toEqual([[1], [2]])
  })

  test('a batch is bounded by bytes; an item that is larger goes alone', async () => {
    const { batcher, batches, finish } = held({ maxBytes: 10, bytesOf: (n) => n })
    const results = Promise.all([4, 6, 1, 50, 2, 3].map((n) => batcher.call(n)))
    await soon()
    for (let n = 0; n < 4; n++) await finish()

    await results
    expect(batches).toEqual([[4, 6], [1], [50], [2, 3]])
  })

  test('items that were left alone run again, before later items', async () => {
    const batches: (readonly number[])[] = []
    const batcher = new Batcher<number, number>(
      async (items) => {
        batches.push(items)
        return items.map((n, i) => (i === 0 ? n : AGAIN))
      },
      { maxItems: 3 },
    )

    expect(await Promise.all([1, 2, 3, 4].map((n) => batcher.call(n)))).toEqual([1, 2, 3, 4])
    expect(batches).toEqual([[1, 2, 3], [2, 3, 4], [3, 4], [4]])
  })

  test('items left alone in one half are not overtaken by the other half', async () => {
    const batches: (readonly number[])[] = []
    const poison = new Error('poison')
    const batcher = new Batcher<number, number>(
      async (items) => {
        batches.push(items)
        if (items.length > 2) throw poison
        return items.map((n, i) => (i === 0 ? n : AGAIN))
      },
      { splitsOn: (error) => error === poison },
    )

    expect(await Promise.all([1, 2, 3, 4].map((n) => batcher.call(n)))).toEqual([1, 2, 3, 4])
    expect(batches.filter(({ length }) => length < 3)).toEqual([[1, 2], [2], [3, 4], [4]])
  })

  test('only the bad item fails where a batch may be split', async () => {
    const poison = new Error('poison')
    const batcher = new Batcher<number, number>(
      async (items) => {
        if (items.includes(3)) throw poison
        return items
      },
      { splitsOn: (error) => error === poison },
    )

    const results = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => batcher.call(n)))

    expect(results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
      1,
      2,
      poison,
      4,
      5,
    ])
  })
})
