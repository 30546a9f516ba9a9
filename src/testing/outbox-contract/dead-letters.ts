import { ALL, deadly, type OutboxContract, message, messages, payloads } from './scene.ts'

/** Dead letters: how they come about, and how they are found. */
export function describeDeadLetters({ describe, test, expect, open }: OutboxContract): void {
  describe('dead letters', () => {
    test('a message that becomes one is copied with all that it had', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      const partition = topic.first + 1
      const given = { partition, key: 'Kim', headers: '{"trace":1}', payload: '{"n":1}', ttlMs: 5 }
      await scene.enqueue(message(topic, given), message(topic, { partition }))
      const courier = await scene.runtime()
      const read = await courier.claim(partition)
      const [one] = read.messages

      await courier.settle(read, { dead: [deadly(one!, { reason: 'bad "order"', failures: 7 })] })

      const [letter] = await scene.outbox.deadLetters(ALL)
      const { letter: number, failedAt } = letter!
      expect(letter).toEqual({
        letter: number,
        partition,
        id: one!.id,
        seq: 1,
        key: 'Kim',
        payload: '{"n":1}',
        headers: '{"trace":1}',
        enqueuedAt: one!.enqueuedAt,
        failures: 7,
        state: 'pending',
        reason: 'bad "order"',
        failedAt,
        completedAt: null,
        deadline: null,
      })
      expect(failedAt).toBeGreaterThanOrEqual(one!.enqueuedAt)
      expect(failedAt).toBeLessThanOrEqual(await scene.now())
      expect(await scene.under.count('dead_letters')).toBe(1)
    })

    test('they are listed newest first, page by page', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.deadLetters(topic, 3)
      await scene.under.advance(1_000)
      const all = await scene.deadLetters(topic, 4)

      const pages: string[][] = []
      let after: { failedAt: number; letter: number } | null = null
      for (;;) {
        const page = await scene.outbox.deadLetters({ ...ALL, limit: 2, after })
        if (page.length === 0) break
        pages.push(payloads(page))
        after = page.at(-1)!
      }

      expect(pages.map((page) => page.length)).toEqual([2, 2, 2, 1])
      expect(pages.flat()).toEqual(payloads(all))
      expect(payloads(all)).toEqual(['"4"', '"3"', '"2"', '"1"', '"3"', '"2"', '"1"'])
      expect(await scene.outbox.countDeadLetters({ ...ALL, limit: 2 })).toBe(7)
    })

    test('they are found by partition and by state', async () => {
      await using scene = await open()
      const orders = await scene.topic('orders', 2)
      const mails = await scene.topic('mails')
      await scene.deadLetters(orders, 3)
      await scene.deadLetters(mails, 2)
      const ofOrders = { from: orders.first, to: orders.first + 1 }
      const ofMails = { from: mails.first, to: mails.first }
      await scene.outbox.discardDeadLetters({ ...ALL, partitions: ofOrders, limit: 1 })
      const count = (request: object): Promise<number> =>
        scene.outbox.countDeadLetters({ ...ALL, ...request })
      const found = async (request: object): Promise<number> =>
        (await scene.outbox.deadLetters({ ...ALL, ...request })).length

      for (const many of [count, found]) {
        expect(await many({})).toBe(5)
        expect(await many({ partitions: ofOrders })).toBe(3)
        expect(await many({ partitions: ofMails })).toBe(2)
        expect(await many({ state: 'pending' })).toBe(4)
        expect(await many({ state: 'discarded' })).toBe(1)
        expect(await many({ state: 'pending', partitions: ofOrders })).toBe(2)
        expect(await many({ state: 'discarded', partitions: ofMails })).toBe(0)
        expect(await many({ state: 'reprocessing' })).toBe(0)
      }
    })

    test('one that is requeued comes behind all others, with its id', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const letters = await scene.deadLetters(topic, 2)
      await scene.enqueue(message(topic, { payload: '"later"' }))
      const [two, one] = letters

      const partitions = await scene.outbox.requeueDeadLetters([two!.letter, one!.letter])

      expect(partitions).toEqual([topic.first, topic.first])
      expect(await scene.under.count('dead_letters')).toBe(0)
      const courier = await scene.runtime()
      const { messages: read } = await courier.claim(topic.first)
      expect(read.map(({ payload, seq, id, failures }) => [payload, seq, id, failures])).toEqual([
        ['"later"', 3, read[0]!.id, 0],
        ['"1"', 4, one!.id, 0],
        ['"2"', 5, two!.id, 0],
      ])
      expect(read[1]!.position).toBeGreaterThan(read[0]!.position)
      expect(read[1]!.enqueuedAt).toBe(one!.enqueuedAt)
      expect(read[1]!.expiresAt).toBe(null)
    })

    test('only pending ones and those of a replay are requeued, each once', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const letters = (await scene.deadLetters(topic, 4)).map(({ letter }) => letter).toReversed()
      const [resolved, discarded, replayed, pending] = letters
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 1 }, 60_000)
      await scene.outbox.resolveDeadLetters([resolved!])
      await scene.outbox.discardDeadLetters({ ...ALL, limit: 1 })
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 1 }, 60_000)
      const all = [resolved!, discarded!, replayed!, pending!, pending!, 4_711]

      const partitions = await scene.outbox.requeueDeadLetters(all)

      expect(partitions).toEqual([topic.first, topic.first])
      expect(await scene.outbox.requeueDeadLetters(all)).toEqual([])
      const left = await scene.outbox.deadLetters(ALL)
      expect(left.map(({ letter, state }) => [letter, state])).toEqual([
        [discarded!, 'discarded'],
        [resolved!, 'resolved'],
      ])
    })

    test('messages that become dead letters are passed like others', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 3))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first, 2)

      const next = await courier.settle(read, { dead: [deadly(read.messages[1]!)] })

      expect(next.messages).toMatchObject([{ payload: '"3"', seq: 3 }])
      expect(await scene.outbox.deadLetters(ALL)).toMatchObject([{ payload: '"2"', seq: 2 }])
    })
  })
}
