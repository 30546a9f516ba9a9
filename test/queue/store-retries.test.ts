// Dead letters that come back, and the order within a key.

import { describe, expect, test } from 'vitest'
import { dataOf, groupOf, openUser } from './store-support.ts'

const MINUTE = 60_000

type User = Awaited<ReturnType<typeof openUser>>

const retry = (user: User, ...ids: number[]) =>
  user.apply({
    changes: ids.map((id) => ({ kind: 'retry', id, receipt: 0, ms: 0, reason: '' })),
  })

/** Takes what there is, one at a time, each acknowledged. */
async function handleAll(user: User): Promise<unknown[]> {
  const handled: unknown[] = []
  for (;;) {
    const [record] = await user.take(1)
    if (record === undefined) return handled
    handled.push(record.data)
    await user.change('ack', record)
  }
}

/** A queue whose messages of one key are all dead letters. */
async function withDeadLetters(count: number): Promise<User> {
  const user = await openUser({ maxAttempts: 1 })
  const data = Array.from({ length: count }, (_, i) => `k${i}`)
  await user.apply({ pushes: [groupOf(data, { key: 'k' })] })
  for (let i = 0; i < count; i++) await user.change('nack', (await user.take(1))[0]!)
  expect(await user.counts()).toMatchObject({ dead: count })
  return user
}

describe('within a key', () => {
  test.each([[[2, 1, 0]], [[1, 0, 2]], [[0, 2, 1]]])(
    'messages that come back as %j are delivered in their order',
    async (ids) => {
      const together = await withDeadLetters(3)
      await retry(together, ...ids)
      const oneByOne = await withDeadLetters(3)
      for (const id of ids) await retry(oneByOne, id)

      expect(await handleAll(together)).toEqual(['k0', 'k1', 'k2'])
      expect(await handleAll(oneByOne)).toEqual(['k0', 'k1', 'k2'])
    },
  )

  test('an older message that comes back goes before a later one that is returned', async () => {
    const user = await withDeadLetters(2)
    await retry(user, 1)
    const [later] = await user.take(1)
    await retry(user, 0)
    expect(await user.take()).toEqual([])

    await user.change('release', later!)

    expect(await user.counts()).toMatchObject({ ready: 1, delayed: 1 })
    expect(await handleAll(user)).toEqual(['k0', 'k1'])
  })

  test('a later message that has to wait keeps its delay', async () => {
    const user = await withDeadLetters(2)
    await retry(user, 1)
    await user.apply({ maxAttempts: 9, changes: [] })
    const [later] = await user.take(1)
    await user.apply({
      maxAttempts: 9,
      changes: [{ kind: 'nack', id: 1, receipt: later!.receipt, ms: MINUTE, reason: '' }],
    })

    await retry(user, 0)
    expect(await handleAll(user)).toEqual(['k0'])
    expect(await user.counts()).toMatchObject({ ready: 0, delayed: 1 })
    user.store.advanceClock(2 * MINUTE)

    expect(await handleAll(user)).toEqual(['k1'])
  })
})

describe('a dead letter that comes back', () => {
  test('still has the delay that was not over when it became a dead letter', async () => {
    const user = await openUser()
    await user.push('later', { delayMs: 10 * MINUTE })
    await user.push('first', { key: 'k' })
    await user.push('behind', { key: 'k', delayMs: 10 * MINUTE })
    for (const id of [0, 2]) await user.change('dead_letter', { id, receipt: 0 })

    await retry(user, 0, 2)
    user.store.advanceClock(5 * MINUTE)
    expect(await handleAll(user)).toEqual(['first'])
    user.store.advanceClock(6 * MINUTE)

    expect(await handleAll(user)).toEqual(['later', 'behind'])
  })

  test('has no delay when it was in flight', async () => {
    const user = await openUser({ maxAttempts: 1 })
    await user.push('a')
    await user.change('nack', (await user.take(1, 10 * MINUTE))[0]!)

    await retry(user, 0)

    expect(await handleAll(user)).toEqual(['a'])
  })

  test('keeps its time to live, or gets a new one if that is over', async () => {
    const user = await openUser()
    await user.push('a', { ttlMs: 10 * MINUTE })
    await user.change('dead_letter', { id: 0, receipt: 0 })

    user.store.advanceClock(6 * MINUTE)
    await retry(user, 0)
    user.store.advanceClock(3 * MINUTE)
    await user.apply({})
    expect(await user.counts()).toMatchObject({ ready: 1 })
    await user.change('dead_letter', { id: 0, receipt: 0 })
    user.store.advanceClock(60 * MINUTE)
    await retry(user, 0)
    user.store.advanceClock(9 * MINUTE)
    await user.apply({})
    expect(await user.counts()).toMatchObject({ ready: 1 })
    user.store.advanceClock(2 * MINUTE)
    await user.apply({})

    expect(await user.counts()).toMatchObject({ ready: 0 })
  })
})

test('many become dead letters in one batch, each with its reason', async () => {
  const user = await openUser()
  await user.apply({ pushes: [groupOf(Array.from({ length: 500 }, (_, i) => `m${i}`))] })

  const { changes, queueState } = await user.apply({
    changes: Array.from({ length: 500 }, (_, id) => ({
      kind: 'dead_letter',
      id,
      receipt: 0,
      ms: 0,
      reason: `bad ${id}`,
    })),
  })

  expect(new Set(changes)).toEqual(new Set(['done']))
  expect(queueState.counts).toMatchObject({ ready: 0, dead: 500 })
  const page = await user.store.page({ after: 497, limit: 10, dead: true })
  expect(page.map(({ reason }) => reason)).toEqual(['bad 498', 'bad 499'])
  expect(dataOf(page)).toEqual(['m498', 'm499'])
})
