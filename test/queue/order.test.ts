// The order of delivery: priorities, and keys that are delivered one after the other.

import { describe, expect, test } from 'vitest'
import { queueInTime, takeAll } from './support.ts'

describe('priorities', () => {
  test('higher ones come first, equal ones in the order they were pushed', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.pushMany(['plain 1', 'plain 2'])
    await queue.push('urgent 1', { priority: 5 })
    await queue.push('whenever', { priority: -1 })
    await queue.push('urgent 2', { priority: 5 })

    expect(await takeAll(queue)).toEqual(['urgent 1', 'urgent 2', 'plain 1', 'plain 2', 'whenever'])
  })
})

describe('keys', () => {
  test('one message of a key is in flight at a time, and other keys continue', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.pushMany(['a1', 'a2', 'a3'], { key: 'a' })
    await queue.pushMany(['b1', 'b2'], { key: 'b' })
    await queue.push('free')
    expect(queue.counts).toMatchObject({ ready: 3, delayed: 3 })

    const [a1, b1, free] = await queue.takeMany(10)
    expect([a1, b1, free].map((delivery) => delivery!.data)).toEqual(['a1', 'b1', 'free'])
    expect(await takeAll(queue)).toEqual([])
    await a1!.ack()
    await b1!.nack()

    expect(await takeAll(queue)).toEqual(['a2', 'b1'])
  })

  test('a priority does not let a message overtake earlier ones of its key', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.push('a1', { key: 'a' })
    await queue.push('a2', { key: 'a', priority: 9 })

    expect(await takeAll(queue)).toEqual(['a1'])
  })

  test('a message that waits for its time, or to be tried again, holds up those behind it', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.push('a1', { key: 'a', delay: '1m' })
    await queue.push('a2', { key: 'a' })

    expect(await takeAll(queue)).toEqual([])
    await under.pass(60_000)
    const a1 = await queue.take()
    await a1!.nack({ delay: '1m' })
    expect(await takeAll(queue)).toEqual([])
    await under.pass(60_000)

    expect((await queue.take())?.data).toBe('a1')
    expect(await takeAll(queue)).toEqual([])
  })

  test.each([
    ['is removed', ({ queue }) => queue.remove([0])],
    ['is a dead letter', async ({ queue }) => (await queue.take())!.nack()],
    ['has expired', (under) => under.pass(120_000)],
  ] satisfies [string, (under: Under) => Promise<unknown>][])(
    'the next one follows when the first %s',
    async (_, end) => {
      await using under = await queueInTime<string>({ maxAttempts: 1 })
      const { queue } = under
      await queue.push('a1', { key: 'a', ttl: '2m' })
      await queue.push('a2', { key: 'a' })

      await end(under)

      expect(await takeAll(queue)).toEqual(['a2'])
    },
  )

  test('a delayed message behind another still waits for its time when it is next', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.push('a1', { key: 'a' })
    await queue.push('a2', { key: 'a', delay: '1m' })

    await (await queue.take())!.ack()
    expect(queue.counts).toMatchObject({ ready: 0, delayed: 1 })
    await under.pass(60_000)

    expect(await takeAll(queue)).toEqual(['a2'])
  })

  test('a retried dead letter waits for the message in flight, and is next', async () => {
    await using under = await queueInTime<string>({ maxAttempts: 1 })
    const { queue } = under
    await queue.pushMany(['a1', 'a2', 'a3'], { key: 'a' })
    await (await queue.take())!.nack()
    const a2 = await queue.take()

    await queue.dead.retry([0])
    expect(await takeAll(queue)).toEqual([])
    await a2!.ack()
    const next = await queue.take()
    expect(next!.data).toBe('a1')
    await next!.ack()

    expect(await takeAll(queue)).toEqual(['a3'])
  })

  test('removing a message that waits behind another lets no message through', async () => {
    await using under = await queueInTime<string>()
    const { queue } = under
    await queue.pushMany(['a1', 'a2', 'a3'], { key: 'a' })
    const a1 = await queue.take()

    await queue.remove([1])
    expect(await takeAll(queue)).toEqual([])
    await a1!.ack()

    expect(await takeAll(queue)).toEqual(['a3'])
  })
})

type Under = Awaited<ReturnType<typeof queueInTime<string>>>
