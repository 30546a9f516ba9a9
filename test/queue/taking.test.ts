// Many concurrent takers, and how old the state they see may be.

import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { MemoryQueue } from '../../src/queue/index.ts'
import { queueInTime } from './support.ts'

describe('taking', () => {
  test('gives every concurrent call a message as long as there are enough', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    const items = Array.from({ length: 3_000 }, (_, i) => i)
    await queue.pushMany(items)

    const got = await Promise.all(items.map(() => queue.take()))

    expect(got.map((delivery) => delivery?.data)).toEqual(items)
    expect(await queue.take()).toBeUndefined()
  })

  test('any number of waits listen to one signal once, and leave nothing on it', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    await queue.push(1, { delay: '1h' })
    const memory = new MemoryQueue<number>()
    const controller = new AbortController()
    const { signal } = controller
    const waits = Array.from({ length: 20 }, () => [
      queue.take({ timeout: '1h', signal }),
      queue.drain({ signal }),
      memory.poll({ timeout: '1h', signal }),
    ]).flat()
    const settled = Promise.allSettled(waits)
    await under.pass(10)

    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    controller.abort(new Error('enough'))

    for (const { status } of await settled) expect(status).toBe('rejected')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('gives at most a thousand at once', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    await queue.pushMany(Array.from({ length: 1_500 }, (_, i) => i))

    const pages = await Promise.all([queue.takeMany(5_000), queue.takeMany(5_000)])

    expect(pages.map((page) => page.length)).toEqual([1_000, 500])
  })

  test('counts waiting calls, however much they want', async () => {
    await using under = await queueInTime<number>()
    const { queue } = under
    const huge = Number.MAX_SAFE_INTEGER

    await Promise.all([queue.takeMany(huge), queue.takeMany(huge), queue.takeMany(4)])
    await queue.push(1)

    expect(await queue.take()).toMatchObject({ data: 1 })
  })

  test('a failure of other calls does not end an unrelated wait', async () => {
    await using under = await queueInTime<string>()
    const { queue, trouble } = under
    await queue.push('later', { delay: '5s' })
    const waiting = queue.take({ timeout: '1m' })
    await under.pass(10)

    // The look and the batch that see to the delay.
    trouble.busyCalls = 100
    await under.pass(5_000)
    trouble.busyCalls = 0
    await under.pass(2_000)

    expect(await waiting).toMatchObject({ data: 'later' })
  })
})

describe('counts', () => {
  test('show changes of other users within a second, even of later ones', async () => {
    await using here = await queueInTime<string>()
    await using there = await queueInTime<string>({ database: here.database })
    await there.queue.push('from there')

    await here.pass(1_000)

    expect(here.queue.counts).toMatchObject({ total: 1, ready: 1 })
  })
})

describe('a store that does not answer', () => {
  test('is asked again, by timers that keep the process alive while a call waits', async () => {
    await using under = await queueInTime<string>()
    const { queue, trouble } = under
    const waiting = queue.take({ timeout: '10m' })
    await under.pass(10)
    const timers = under.timers()

    trouble.busyCalls = 1
    await under.pass(250)

    expect([trouble.busyCalls, under.timers()]).toEqual([0, timers])
    await queue.push('work')
    expect(await waiting).toMatchObject({ data: 'work' })
    await under.pass(1_000)
    expect(under.timers()).toBe(0)
  })

  test('does not end drain() while messages may be left', async () => {
    await using here = await queueInTime<string>()
    await using there = await queueInTime<string>({ database: here.database })
    await there.queue.push('from there')
    let isDrained = false

    here.trouble.busyCalls = 1
    const draining = here.queue.drain().then(() => (isDrained = true))
    await here.pass(500)
    expect(isDrained).toBe(false)
    await (await there.queue.take())!.ack()
    await here.pass(1_000)

    expect(await draining).toBe(true)
  })
})
