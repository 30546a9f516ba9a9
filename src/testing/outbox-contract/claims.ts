import { type OutboxContract, message, messages, nothing, payloads, step } from './scene.ts'

/** Which runtime owns a partition, and what others get. */
export function describeClaims({ describe, test, expect, open }: OutboxContract): void {
  describe('claims', () => {
    test('a free partition is claimed and read in one step', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const courier = await scene.runtime()

      const answer = await courier.step(topic.first)

      expect(answer).toMatchObject({
        state: 'ok',
        cursor: 0,
        done: [],
        abandoned: 0,
        messages: [{ payload: '"hello"' }],
        due: [],
        waitingKeys: [],
        isBlocked: false,
        dueAt: null,
        isReleased: false,
      })
    })

    test('each claim raises the epoch, whichever runtime makes it', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()

      const first = await a.claim(topic.first)
      await a.release(first)
      const second = await b.claim(topic.first)
      await b.release(second)
      const third = await a.claim(topic.first)

      expect(second.epoch).toBe(first.epoch + 1)
      expect(third.epoch).toBe(first.epoch + 2)
    })

    test('a partition with a live owner is busy, and stays with it', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const read = await owner.claim(topic.first)

      expect(await other.step(topic.first)).toEqual({ state: 'busy' })
      expect(await owner.settle(read)).toMatchObject({ epoch: read.epoch, messages: [] })
    })

    test('of two concurrent claims, one gets `busy`', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 8)
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      const all = Array.from({ length: 8 }, (_, i) => step(topic.first + i))

      const [one, other] = await Promise.all([
        a.outbox.steps(a.runtime, all),
        b.outbox.steps(b.runtime, all.toReversed()),
      ])

      const states = one.answers.map(({ state }, i) => [state, other.answers.at(-1 - i)!.state])
      expect(states.map((pair) => pair.toSorted().join(' '))).toEqual(all.map(() => 'busy ok'))
    })

    test('a runtime that claims its own partition again gets it: the first answer may be lost', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2))
      const courier = await scene.runtime()
      const lost = await courier.claim(topic.first)

      const again = await courier.claim(topic.first)

      expect(again.epoch).toBe(lost.epoch + 1)
      expect(again.abandoned).toBe(0)
      expect(payloads(again.messages)).toEqual(['"1"', '"2"'])
      expect(again.messages.map(({ failures }) => failures)).toEqual([0, 0])
      expect(await courier.trySettle(lost)).toEqual({ state: 'lost' })
    })

    test('the partitions of a runtime that died are free once another runtime has noticed', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const victim = await scene.runtime()
      const other = await scene.otherRuntime()
      const read = await victim.claim(topic.first)
      await scene.under.kill(victim.runtime)

      expect(await other.step(topic.first)).toEqual({ state: 'busy' })
      await other.tick()
      const claimed = await other.claim(topic.first)

      expect(claimed.epoch).toBe(read.epoch + 1)
      expect(claimed.abandoned).toBe(0)
    })

    test('the partitions of a runtime that left are free', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const leaving = await scene.runtime()
      const other = await scene.otherRuntime()
      await leaving.claim(topic.first)

      await leaving.store.unregister(leaving.runtime)

      expect(await other.step(topic.first)).toMatchObject({ state: 'ok' })
    })

    test('each step of a runtime that is dead, gone or unknown is answered with `dead`, and does nothing', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      await scene.enqueue(message(topic))
      const dead = await scene.runtime()
      const gone = await scene.runtime()
      const read = await dead.claim(topic.first)
      await scene.bury(dead)
      await gone.store.unregister(gone.runtime)

      const settle = nothing(read, { to: read.messages[0]!.position, passed: 1 })
      const steps = [step(topic.first, { epoch: read.epoch, settle }), step(topic.first + 1)]
      for (const runtime of [dead.runtime, gone.runtime, 4_711]) {
        const { answers } = await scene.outbox.steps(runtime, steps)
        expect(answers).toEqual([{ state: 'dead' }, { state: 'dead' }])
      }

      const other = await scene.runtime()
      expect(await other.claim(topic.first)).toMatchObject({ cursor: 0, messages: [{ seq: 1 }] })
      expect(await other.claim(topic.first + 1)).toMatchObject({ epoch: 1 })
    })

    test('each step is judged by itself', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 3)
      await scene.enqueue(message(topic), message(topic, { partition: topic.first + 2 }))
      const owner = await scene.otherRuntime()
      await owner.claim(topic.first + 1)
      const courier = await scene.runtime()

      const { clock, answers } = await courier.outbox.steps(courier.runtime, [
        step(topic.first),
        step(topic.first + 1),
        step(topic.first, { epoch: 99 }),
        step(topic.first + 2),
      ])

      expect(answers.map(({ state }) => state)).toEqual(['ok', 'busy', 'lost', 'ok'])
      expect(clock).toBeLessThanOrEqual(await scene.now())
      expect((await courier.outbox.steps(courier.runtime, [])).answers).toEqual([])
    })
  })

  describe('releases', () => {
    test('a partition is kept, released, or released when there is nothing to deliver', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 3)
      const [full, empty, never] = [topic.first, topic.first + 1, topic.first + 2]
      await scene.enqueue(message(topic))
      const courier = await scene.runtime()
      const other = await scene.otherRuntime()

      const kept = await courier.claim(full, 10, 'when-empty')
      const given = await courier.claim(empty, 10, 'when-empty')
      const idle = await courier.claim(never, 10, 'never')

      expect([kept, given, idle].map(({ isReleased }) => isReleased)).toEqual([false, true, false])
      expect(await other.step(full)).toEqual({ state: 'busy' })
      expect(await other.step(never)).toEqual({ state: 'busy' })
      expect(await other.step(empty)).toMatchObject({ state: 'ok', epoch: given.epoch + 1 })
    })

    test('what is settled with the release counts', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2))
      const courier = await scene.runtime()
      const other = await scene.otherRuntime()
      const read = await courier.claim(topic.first, 1)

      const settled = await courier.settle(read, {}, { read: 0, release: 'always' })

      expect(settled).toMatchObject({ isReleased: true, messages: [] })
      expect(payloads((await other.claim(topic.first)).messages)).toEqual(['"2"'])
    })

    test('a runtime that released a partition has lost it', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      await courier.release(read)

      expect(await courier.trySettle(read)).toEqual({ state: 'lost' })
      expect(await scene.ready()).toEqual([topic.first])
    })
  })
}
