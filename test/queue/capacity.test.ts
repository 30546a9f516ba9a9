import { expect, test } from 'vitest'
import { queueInTime, takeAll } from './support.ts'

/** Whether a promise is settled, when everything that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const settle = (): void => void (settled = true)
  promise.then(settle, settle)
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

test('a push to a full queue waits for room', async () => {
  await using under = await queueInTime<string>({ capacity: 2 })
  const { queue } = under
  await queue.pushMany(['a', 'b'])

  const third = queue.push('c')
  const fourth = queue.push('d')
  expect(await isSettled(third)).toBe(false)
  await (await queue.take())!.ack()

  expect(await third).toBe(2)
  expect(await isSettled(fourth)).toBe(false)
  expect(queue.counts.total).toBe(2)
  await (await queue.take())!.ack()
  expect(await fourth).toBe(3)
})

test('no push overtakes one that waits for room, even if it would fit', async () => {
  await using under = await queueInTime<string>({ capacity: 3 })
  const { queue } = under
  await queue.pushMany(['x', 'y'])

  const many = queue.pushMany(['a1', 'a2'], { key: 'a' })
  const one = queue.push('a3', { key: 'a' })
  expect(await isSettled(one)).toBe(false)
  await queue.ack(await queue.takeMany(2))

  expect([await many, await one]).toEqual([[2, 3], 4])
})

test('nor does one that comes while the first is being queued', async () => {
  await using under = await queueInTime<string>({ capacity: 3 })
  const { queue, trouble } = under
  await queue.pushMany(['x', 'y'])

  trouble.latencyMs = 1_000
  const many = queue.pushMany(['a1', 'a2'], { key: 'a' })
  await under.pass(500)
  const one = queue.push('a3', { key: 'a' })
  await under.pass(10_000)
  trouble.latencyMs = 0
  expect(await isSettled(one)).toBe(false)
  await queue.ack(await queue.takeMany(2))

  expect([await many, await one]).toEqual([[2, 3], 4])
})

test('messages that expire or become dead letters make room', async () => {
  await using under = await queueInTime<string>({ capacity: 2, maxAttempts: 1 })
  const { queue } = under
  await queue.push('brief', { ttl: '1m' })
  await queue.push('bad')

  const third = queue.push('c')
  await under.pass(60_000)
  expect(await third).toBe(2)
  const fourth = queue.push('d')
  await (await queue.take())!.nack()

  expect(await fourth).toBe(3)
  expect(await takeAll(queue)).toEqual(['c', 'd'])
})

test('with `refuse` it fails at once, and nothing is stored', async () => {
  await using under = await queueInTime<string>({ capacity: 2, whenFull: 'refuse' })
  const { queue } = under
  await queue.push('a')

  await expect(queue.pushMany(['b', 'c'])).rejects.toMatchObject({
    name: 'QueueError',
    code: 'full',
    message: 'queue push: the queue is full, its capacity is 2',
  })
  await queue.push('b')

  expect(await takeAll(queue)).toEqual(['a', 'b'])
})

test('a push larger than the capacity is refused', async () => {
  await using under = await queueInTime<string>({ capacity: 2 })

  await expect(under.queue.pushMany(['a', 'b', 'c'])).rejects.toThrow(
    new RangeError("queue pushMany: items must not exceed the queue's capacity of 2, got 3"),
  )
})

test('a push that waits for room when the queue is closed is rejected', async () => {
  const { queue } = await queueInTime<string>({ capacity: 1 })
  await queue.push('a')
  const second = queue.push('b').catch((error: unknown) => error)

  await queue.close()

  expect(await second).toMatchObject({ code: 'closed' })
})

test('a thousand pushes through a narrow queue arrive in order, each once', async () => {
  await using under = await queueInTime<number>({ capacity: 3 })
  const { queue } = under
  const items = Array.from({ length: 1_000 }, (_, i) => i)

  const pushes = Promise.all(items.map((item) => queue.push(item)))
  const got: number[] = []
  for await (const delivery of queue.consume()) {
    got.push(delivery.data)
    await delivery.ack()
    if (got.length === items.length) break
  }

  expect(got).toEqual(items)
  expect(await pushes).toEqual(items)
})
