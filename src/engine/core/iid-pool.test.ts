import { describe, expect, test } from 'vitest'

import { openStore } from '../../../test/support/sqlite.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { IidPool } from './iid-pool.ts'

describe('numbers for instances', () => {
  test('are all different, for all concurrent callers', async () => {
    await using opened = await openStore()
    const pools = [new IidPool(opened.store), new IidPool(opened.store)]

    const taken = await Promise.all(Array.from({ length: 5_000 }, (_, i) => pools[i % 2]!.take()))

    expect(new Set(taken).size).toBe(5_000)
  })

  test('are reserved in blocks', async () => {
    await using opened = await openStore()
    let asked = 0
    const store = Object.create(opened.store, {
      reserve: { value: (count: number) => (asked++, opened.store.reserve(count)) },
    }) as typeof opened.store
    const pool = new IidPool(store)

    await Promise.all(Array.from({ length: 1_000 }, () => pool.take()))
    expect(asked).toBe(1)
    await pool.take()
    expect(asked).toBe(2)
    pool.forget()
    await pool.take()
    expect(asked).toBe(3)
  })

  test('a failed reservation rejects all waiting callers, and the next call tries again', async () => {
    await using opened = await openStore()
    const error = new Error('down')
    let failures = 1
    const store = Object.create(opened.store, {
      reserve: {
        value: (count: number) =>
          failures-- > 0 ? Promise.reject(error) : opened.store.reserve(count),
      },
    }) as typeof opened.store
    const pool = new IidPool(store)

    const both = await Promise.allSettled([pool.take(), pool.take()])

    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await pool.take()).toBeGreaterThan(0)
  })
})

test('a number that is already taken discards the rest of its own block, and of no later one', async () => {
  const blocks: number[] = []
  const store = { reserve: async (count: number) => 1 + blocks.push(count) * 1_000 }
  const pool = new IidPool(store as unknown as WorkflowStore)
  const [first, second] = [await pool.take(), await pool.take()]

  pool.forget(second)
  const third = await pool.take()
  pool.forget(first)

  expect([first, second, third, await pool.take()]).toEqual([1_001, 1_002, 2_001, 2_002])
})
