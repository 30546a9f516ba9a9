import { LEASE_MS, message, messages, type OutboxContract, step } from './scene.ts'

/** Which partitions have messages to deliver, and which runtimes are alive. */
export function describeLooking({ describe, test, expect, open }: OutboxContract): void {
  describe('looking', () => {
    test('only partitions with messages are found, of all or of those asked for', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 8)
      const at = (i: number): number => topic.first + i
      await scene.enqueue(
        message(topic, { partition: at(1) }),
        message(topic, { partition: at(6) }),
        message(topic, { partition: at(6) }),
      )

      expect(await scene.ready()).toEqual([at(1), at(6)])
      const [one] = await scene.work([at(0), at(6), at(7)])
      expect(one![0]).toBe(at(6))
      expect(await scene.work([at(0)])).toEqual([])
      expect(await scene.work([])).toEqual([])
    })

    test('a partition whose messages are done is not found', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      await courier.settle(read, {}, { release: 'always' })

      expect(await scene.work()).toEqual([])
      expect(await scene.work([topic.first])).toEqual([])
    })

    test('one with a live owner is left out; one whose owner died is found', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const owner = await scene.runtime()
      await owner.claim(topic.first)

      const owned = await scene.work()
      await scene.bury(owner)

      expect(owned).toEqual([])
      expect(await scene.ready()).toEqual([topic.first])
    })

    test('what a tick answers is the same', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 4)
      await scene.enqueue(message(topic), message(topic, { partition: topic.first + 3 }))
      const courier = await scene.runtime()

      const { state, work } = await courier.tick()

      expect(state).toBe('ok')
      expect(work).toEqual((await scene.outbox.look(null)).work)
      expect(work.length).toBe(2)
    })

    test('many idle partitions are not found', async () => {
      await using scene = await open()
      const topics = Array.from({ length: 4 }, (_, i) => ({ name: `topic-${i}`, partitions: 64 }))
      const rows = await scene.outbox.topics(topics)
      const last = rows.at(-1)!
      const partition = last.first + 63
      await scene.enqueue(message(last, { partition }))

      expect(await scene.ready()).toEqual([partition])
    })
  })

  describe('ticks', () => {
    test('one renews the lease', async () => {
      await using scene = await open()
      const courier = await scene.runtime()
      await scene.under.kill(courier.runtime)

      await courier.tick()
      await (await scene.otherRuntime()).tick()

      expect(await courier.tick()).toMatchObject({ state: 'ok' })
    })

    test('a runtime that was declared dead learns it from its ticks and its steps', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const courier = await scene.runtime()
      await scene.bury(courier)

      expect(await courier.tick()).toMatchObject({ state: 'dead' })
      const { answers } = await courier.outbox.steps(courier.runtime, [step(topic.first)])
      expect(answers).toEqual([{ state: 'dead' }])
    })

    test('it says when the first lease of another live runtime ends', async () => {
      await using scene = await open()
      const courier = await scene.runtime()
      const alone = await courier.tick()
      const silent = await scene.otherRuntime()
      await scene.under.advance(1_000)
      await scene.runtime()

      const { clock, leaseEndsAt } = await courier.tick()
      await scene.under.store.unregister(silent.runtime)
      const later = await courier.tick()

      expect(alone.leaseEndsAt).toBe(null)
      expect(leaseEndsAt! - clock).toBeLessThanOrEqual(LEASE_MS - 1_000)
      expect(later.leaseEndsAt).toBeGreaterThanOrEqual(leaseEndsAt! + 1_000)
    })

    test('the clock of the store goes on with it', async () => {
      await using scene = await open()
      const courier = await scene.runtime()
      const before = await courier.tick()

      await scene.under.advance(5_000)

      const after = await courier.tick()
      expect(after.clock - before.clock).toBeGreaterThanOrEqual(5_000)
    })
  })
}
