import { sorted } from '../contract/scene.ts'
import {
  apart,
  deadly,
  type OutboxContract,
  message,
  messages,
  nothing,
  payloads,
} from './scene.ts'

/** What is written about messages that were handed out, and when it is not. */
export function describeSettling({ describe, test, expect, open }: OutboxContract): void {
  describe('settling', () => {
    test('the cursor passes what is done, and the next messages are read in the same step', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 5))
      const courier = await scene.runtime()
      const first = await courier.claim(topic.first, 2)

      const second = await courier.settle(first, {}, { read: 2 })
      const third = await courier.settle(second, {}, { read: 2 })

      expect([first, second, third].map((read) => payloads(read.messages))).toEqual([
        ['"1"', '"2"'],
        ['"3"', '"4"'],
        ['"5"'],
      ])
      expect(second.cursor).toBe(first.messages[1]!.position)
      expect(second.epoch).toBe(first.epoch)
    })

    test('numbers of messages have no gaps, whichever runtime reads them and in what portions', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 2)
      const seqs: number[] = []
      for (const size of [3, 1, 4]) {
        await scene.enqueue(
          ...messages(topic, size).flatMap((one) => [
            one,
            message(topic, { partition: topic.first + 1 }),
          ]),
        )
        const courier = await scene.runtime()
        const read = await courier.claim(topic.first, 2)
        const more = await courier.settle(read, {}, { read: 5 })
        seqs.push(...[...read.messages, ...more.messages].map(({ seq }) => seq))
        await courier.settle(more, {}, { read: 0, release: 'always' })
        await scene.outbox.removeDone(100)
      }

      expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    })

    test('messages that are done out of order are not read again, and count', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 5))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const [one, two, three, four] = read.messages.map(({ position }) => position)

      const after = await courier.settle(read, { to: one!, passed: 1, done: [three!, four!] })
      await courier.release(after)
      const other = await scene.otherRuntime()
      const claimed = await other.claim(topic.first)

      for (const { cursor, done, messages: left } of [after, claimed]) {
        expect(cursor).toBe(one!)
        expect(sorted(done)).toEqual([three!, four!])
        expect(left.map(({ payload, seq }) => [payload, seq])).toEqual([
          ['"2"', 2],
          ['"5"', 5],
        ])
      }
      const last = await other.settle(claimed, { to: four!, passed: 3, done: [] })
      expect(last).toMatchObject({ cursor: four!, done: [], messages: [{ seq: 5 }] })
      expect(two! < three!).toBe(true)
    })

    test('a limit counts messages that are not done', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 6))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const done = read.messages.slice(0, 4).map(({ position }) => position)

      const left = await courier.settle(read, { to: 0, passed: 0, done }, { read: 1 })

      expect(left.messages.map(({ payload, seq }) => [payload, seq])).toEqual([['"5"', 5]])
    })

    test('failures are kept for the next owner, and forgotten when the cursor passes', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 3))
      const courier = await scene.runtime()
      const read = await courier.claim(topic.first)
      const [one, two] = read.messages.map(({ position }) => position)
      const failures = new Map([
        [one!, 2],
        [two!, 1],
      ])

      const failed = await courier.settle(read, { to: 0, passed: 0, failures })
      await courier.release(failed)
      const other = await scene.otherRuntime()
      const claimed = await other.claim(topic.first)
      const passed = await other.settle(claimed, {
        to: one!,
        passed: 1,
        failures: new Map([[two!, 5]]),
      })

      expect([...claimed.failures]).toEqual([...failures])
      expect(claimed.messages.map((one_) => one_.failures)).toEqual([2, 1, 0])
      expect([...passed.failures]).toEqual([[two!, 5]])
      expect(passed.messages.map((one_) => one_.failures)).toEqual([5, 0])
    })

    test('nothing is read before the time that was set', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 2))
      const courier = await scene.runtime()
      const dueAt = (await scene.now()) + 60_000
      const read = await courier.claim(topic.first)

      const settled = await courier.settle(
        read,
        { to: 0, passed: 0, dueAt },
        { release: 'when-empty' },
      )
      const early = await courier.claim(topic.first, 10, 'when-empty')
      const work = await scene.work()
      await scene.under.advance(60_001)
      const due = await courier.claim(topic.first)

      for (const { messages: none, dueAt: at, isReleased } of [settled, early]) {
        expect([none, at, isReleased]).toEqual([[], dueAt, true])
      }
      expect(work).toEqual([[topic.first, dueAt]])
      expect(payloads(due.messages)).toEqual(['"1"', '"2"'])
      expect(due.dueAt).toBe(null)
    })

    test('a later settlement without a time takes it back', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const courier = await scene.runtime()
      const dueAt = (await scene.now()) + 60_000
      const read = await courier.claim(topic.first)
      const waits = await courier.settle(read, { to: 0, passed: 0, dueAt })

      const again = await courier.settle(waits, { to: 0, passed: 0 })

      expect(again).toMatchObject({ dueAt: null, messages: [{ payload: '"hello"' }] })
    })

    test('a settlement at another epoch, cursor or runtime has no effect at all', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(...messages(topic, 3, { key: 'k' }))
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const first = await owner.claim(topic.first, 1)
      const read = await owner.settle(first)
      const [two, three] = read.messages
      const now = await scene.now()
      const settle = nothing(read, {
        to: three!.position,
        passed: 2,
        dead: [deadly(two!)],
        deferred: [apart(three!, now)],
        dueAt: now + 60_000,
      })

      const wrong = [
        await owner.trySettle({ ...read, epoch: read.epoch + 1 }, settle),
        await owner.trySettle({ ...read, epoch: read.epoch - 1 }, settle),
        await owner.trySettle(read, { ...settle, cursor: first.cursor }),
        await owner.trySettle(read, { ...settle, cursor: three!.position }),
        await other.trySettle(read, settle),
      ]

      expect(wrong).toEqual(wrong.map(() => ({ state: 'lost' })))
      expect(await scene.under.count('dead_letters')).toBe(0)
      expect(await scene.under.count('waiting')).toBe(0)
      const after = await owner.settle(read, { to: read.cursor, passed: 0 })
      expect(after.messages).toEqual(read.messages)
    })

    test('a superseded runtime settles nothing', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const old = await scene.runtime()
      const read = await old.claim(topic.first)
      await scene.bury(old)
      const owner = await scene.otherRuntime()
      const claimed = await owner.claim(topic.first)

      expect(await old.trySettle(read)).toEqual({ state: 'dead' })
      expect(await owner.settle(claimed)).toMatchObject({ messages: [] })
    })
  })
}
