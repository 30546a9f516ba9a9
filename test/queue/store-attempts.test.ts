// What becomes of messages in flight: by a nack, the end of a lease, of a user or of a process.

import { describe, expect, test } from 'vitest'
import { dataOf, endedProcess, groupOf, openUser, queueDatabase } from './store-support.ts'

const MINUTE = 60_000

describe('when a process ends', () => {
  test('messages that were in flight for the first time come again at once, in order', async () => {
    const database = queueDatabase()
    const user = await openUser({ database })
    await user.apply({ pushes: [groupOf(['a', 'b', 'c'])] })
    await user.take(2)

    user.movesTo(endedProcess(database))
    const next = await openUser({ database })

    const taken = await next.take()
    expect(dataOf(taken)).toEqual(['a', 'b', 'c'])
    expect(taken.map(({ attempt }) => attempt)).toEqual([2, 2, 1])
  })

  test('a message that is in flight again and again waits longer and longer', async () => {
    const database = queueDatabase()
    const first = await openUser({ database })
    await first.push('deadly')
    const ended = endedProcess(database)
    first.movesTo(ended)
    let offsetMs = 0
    const waits: number[] = []

    for (let i = 0; i < 12; i++) {
      const user = await openUser({ database, offsetMs })
      const { now, nextDueAt } = await user.store.look()
      const waitMs = nextDueAt === null ? 0 : nextDueAt - now
      waits.push(Math.round(waitMs / 1_000))
      offsetMs += waitMs + 100
      user.store.advanceClock(waitMs + 100)
      expect(await user.take()).toHaveLength(1)
      user.movesTo(ended)
    }

    expect(waits).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
  })

  test('a message that has used up its attempts is a dead letter', async () => {
    const database = queueDatabase()
    const ended = await openUser({ database, maxAttempts: 2 })
    await ended.push('deadly')
    ended.movesTo(endedProcess(database))
    const again = await openUser({ database, maxAttempts: 2 })
    for (const user of [again, await openUser({ database, maxAttempts: 2 })]) {
      expect(await user.take()).toHaveLength(1)
      user.movesTo(endedProcess(database))
      await (await openUser({ database })).store.close()
    }

    // The process that notices has no limit itself.
    const last = await openUser({ database })

    expect(await last.counts()).toMatchObject({ ready: 0, delayed: 0, inFlight: 0, dead: 1 })
    expect(await last.store.find(0)).toMatchObject({
      attempt: 2,
      reason: 'its process ended in attempt 2',
    })
  })

  test('messages that were only prefetched come again without an attempt, the first time', async () => {
    const database = queueDatabase()
    const user = await openUser({ database, maxAttempts: 2 })
    await user.apply({ pushes: [groupOf(['given', 'ahead'])] })
    const takes = [
      { max: 1, isPrefetched: false },
      { max: 5, isPrefetched: true },
    ]
    await user.apply({ takes })
    user.movesTo(endedProcess(database))

    const next = await openUser({ database, maxAttempts: 2 })
    const again = (await next.apply({ takes: [{ max: 5, isPrefetched: true }] })).taken
    next.movesTo(endedProcess(database))
    const last = await openUser({ database, maxAttempts: 2, offsetMs: MINUTE })

    expect(again.map(({ data, attempt, reason }) => [data, attempt, reason])).toEqual([
      ['given', 2, 'its process ended in attempt 1'],
      ['ahead', 1, 'its process ended after the message was prefetched'],
    ])
    // The second time both count.
    expect(await last.counts()).toMatchObject({ ready: 1, delayed: 0, dead: 1 })
    expect(await last.take()).toMatchObject([{ data: 'ahead', attempt: 2 }])
  })

  test('a prefetched message counts an attempt where only one is allowed', async () => {
    const database = queueDatabase()
    const user = await openUser({ database, maxAttempts: 1 })
    await user.push('work')
    await user.apply({ takes: [{ max: 1, isPrefetched: true }], maxAttempts: 1 })
    user.movesTo(endedProcess(database))

    const next = await openUser({ database })

    expect(await next.counts()).toMatchObject({ ready: 0, dead: 1 })
  })

  test('prefetched messages are settled, returned and expire like others', async () => {
    const database = queueDatabase()
    const user = await openUser({ database })
    await user.apply({ pushes: [groupOf(['acked', 'nacked', 'lapsed', 'given back'])] })
    const [acked, nacked] = await user.take(3, MINUTE, true)
    expect(await user.change('ack', acked!)).toBe('done')
    expect(await user.change('nack', nacked!)).toBe('done')
    user.store.advanceClock(2 * MINUTE)
    await user.take(3, MINUTE, true)
    await user.store.close()

    const next = await openUser({ database, offsetMs: 2 * MINUTE })

    expect((await next.take()).map(({ data, attempt }) => [data, attempt])).toEqual([
      ['nacked', 2],
      ['lapsed', 2],
      ['given back', 1],
    ])
  })

  test('a message that has expired meanwhile is gone', async () => {
    const database = queueDatabase()
    const user = await openUser({ database })
    await user.push('brief', { ttlMs: MINUTE })
    await user.take(1, 10 * MINUTE)
    user.movesTo(endedProcess(database))

    const next = await openUser({ database, offsetMs: 2 * MINUTE })

    expect(await next.counts()).toEqual({ ready: 0, delayed: 0, inFlight: 0, dead: 0 })
  })
})

test('messages that a user has in flight when it closes count as not taken', async () => {
  const database = queueDatabase()
  const user = await openUser({ database, maxAttempts: 1 })
  await user.push('a')
  const [old] = await user.take()

  await user.store.close()
  const next = await openUser({ database, maxAttempts: 1 })
  expect(await next.store.find(0)).toMatchObject({ state: 'ready', attempt: 0 })
  const [fresh] = await next.take()

  expect(fresh).toMatchObject({ attempt: 1 })
  expect(fresh!.receipt).not.toBe(old!.receipt)
})

test('the limit of attempts is that of the user that had the message, not of the one that sweeps', async () => {
  const database = queueDatabase()
  const worker = await openUser({ database, maxAttempts: 1 })
  await worker.push('a')
  await worker.take()

  const monitor = await openUser({ database, offsetMs: MINUTE })

  expect(await monitor.counts()).toMatchObject({ ready: 0, dead: 1 })
  expect(await monitor.store.find(0)).toMatchObject({ reason: 'its lease ended in attempt 1' })
})

test('a message of a user without a limit is not a dead letter for one with a limit', async () => {
  const database = queueDatabase()
  const worker = await openUser({ database })
  await worker.push('a')
  await worker.take()

  const strict = await openUser({ database, maxAttempts: 1, offsetMs: MINUTE })

  expect(await strict.counts()).toMatchObject({ ready: 1, dead: 0 })
})

test('the reason of the latest failure is kept, until the message is retried', async () => {
  const user = await openUser({ maxAttempts: 3 })
  await user.push('a')
  const reasonNow = async () => (await user.store.find(0))?.reason
  const nack = async (reason: string) => user.change('nack', (await user.take())[0]!, { reason })

  await nack('no answer')
  expect(await reasonNow()).toBe('no answer')
  await user.take()
  user.store.advanceClock(MINUTE)
  await user.apply({})
  expect(await reasonNow()).toBe('its lease ended in attempt 2')
  await nack('no answer again')
  expect(await reasonNow()).toBe('no answer again')
  await user.change('retry', { id: 0, receipt: 0 })

  expect(await reasonNow()).toBe('')
})
