// How soon messages are noticed. Without any notice a process looks every ten seconds, so whatever takes
// less than three was noticed.

import { expect, test } from 'vitest'
import { randomFrom } from '../e2e/random.ts'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

const SOON_MS = 3_000

/** Lets time pass. */
async function pass(ms: number): Promise<void> {
  const untilMs = performance.now() + ms
  await eventually(() => performance.now() >= untilMs)
}

describeOutbox('notice of messages', (place) => {
  test('no message waits for the next poll, however the rate changes', async () => {
    const seed = Math.floor(Math.random() * 1e6)
    const random = randomFrom(seed)
    const producer = place.outbox()
    const numbers = place.topic<number>(4)
    const delays: number[] = []
    const sentMs: number[] = []
    for (const box of [place.outbox(), place.outbox()]) {
      box.handle(numbers, async ({ payload }) => {
        delays.push(performance.now() - sentMs[payload]!)
      })
      await box.start()
    }
    let n = 0
    for (const untilMs = performance.now() + 2_500; performance.now() < untilMs;) {
      const count = random() < 0.4 ? 30 : 1
      for (let i = 0; i < count; i++) {
        sentMs[n] = performance.now()
        await place.send(producer, numbers, { payload: n++ })
      }
      await pass(random() * 700)
    }

    await eventually(() => delays.length === n)

    expect(Math.max(...delays), `seed ${seed}`).toBeLessThan(SOON_MS)
  })

  test('a delayed message of another process is noticed when it is due', async () => {
    const consumer = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    consumer.handle(numbers, run)
    await consumer.start()

    await place.send(place.outbox(), numbers, { payload: 1, delay: 200 })
    const beganMs = performance.now()
    await eventually(() => seen.length === 1)

    expect(performance.now() - beganMs).toBeLessThan(SOON_MS)
  })

  test('delayed messages that were there before the start are noticed when they are due', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items(upTo(3), { delay: 300 }))
    const consumer = place.outbox()
    const { seen, payloads, run } = recorder()
    consumer.handle(numbers, run)

    await consumer.start()
    const beganMs = performance.now()
    await eventually(() => seen.length === 3)

    expect(performance.now() - beganMs).toBeLessThan(SOON_MS)
    expect(payloads()).toEqual(upTo(3))
  })

  test('a message that arrives while its partition is delivered is noticed without a notification', async () => {
    const consumer = place.outbox()
    const producer = place.outbox()
    const numbers = place.topic<number>()
    const begun = deferred()
    const finish = deferred()
    const { seen } = recorder()
    consumer.handle(numbers, async (message) => {
      begun.resolve()
      if (message.payload === 1) await finish.promise
      seen.push(message)
    })
    await consumer.start()
    await place.send(producer, numbers, { payload: 1 })
    await begun.promise

    const transaction = await place.begin()
    await producer.in(transaction.tx).enqueue(numbers, 2)
    if (place.kind === 'postgres') finish.resolve()
    await pass(300)
    await transaction.commit()
    finish.resolve()
    const beganMs = performance.now()
    await eventually(() => seen.length === 2)

    expect(performance.now() - beganMs).toBeLessThan(SOON_MS)
  })
})

describeOutbox(
  'notice of messages after a burst',
  (place) => {
    test('a transaction that stays open until the consumer waits for notifications again is noticed', async () => {
      const consumer = place.outbox()
      const producer = place.outbox()
      const numbers = place.topic<number>(2)
      const { seen, run } = recorder()
      consumer.handle(numbers, run)
      await consumer.start()
      for (let i = 0; i < 60; i++) await place.send(producer, numbers, { payload: 0, partition: 0 })

      // While the consumer polls by itself, no sender notifies it.
      const transaction = await place.begin()
      await producer.in(transaction.tx).enqueue(numbers, 1, { partition: 1 })
      await pass(2_500)
      await transaction.commit()
      const beganMs = performance.now()
      await eventually(() => seen.length === 61)

      expect(performance.now() - beganMs).toBeLessThan(SOON_MS)
    })
  },
  ['postgres'],
)
