import { MAX_OUTBOX_READ_BYTES } from '../../store/constants.ts'
import type { Settlement } from '../../store/outbox-store.ts'
import {
  ALL,
  apart,
  type Courier,
  deadly,
  type OutboxContract,
  message,
  type OutboxScene,
  payloads,
  type Answered,
} from './scene.ts'

const MINUTE_MS = 60_000

/** Messages that wait apart, so that others can pass them. */
export function describeWaiting({ describe, test, expect, open }: OutboxContract): void {
  describe('messages that wait apart', () => {
    test('one is not read before its time', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, ['a', 'b'])
      const [a] = read.messages

      const settled = await courier.settle(read, { deferred: [apart(a!, dueAt, 3)] })

      expect(settled).toMatchObject({ messages: [], due: [], waitingKeys: [], dueAt })
      expect(settled.cursor).toBe(read.messages[1]!.position)
    })

    test('one that is due is read apart, as it was', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, ['a'], { headers: '{}', ttlMs: 5 })
      const [a] = read.messages
      const settled = await courier.settle(read, { deferred: [apart(a!, dueAt, 3)] })
      await courier.release(settled)
      await scene.outbox.removeDone(10)
      await scene.under.advance(MINUTE_MS + 1)

      const other = await scene.otherRuntime()
      const claimed = await other.claim(read.partition)

      expect(claimed.due).toEqual([{ ...a!, failures: 3 }])
      expect(claimed).toMatchObject({ messages: [], waitingKeys: [], dueAt: null })
    })

    test('one that is done is gone', async () => {
      await using scene = await open()
      const { courier, read } = await deliver(scene, ['a'])
      const due = await courier.settle(read, { deferred: [apart(read.messages[0]!, 0)] })

      const done = await courier.settle(due, outcome(due, null))

      expect(payloads(due.due)).toEqual(['"a1"'])
      expect(done).toMatchObject({ due: [], waitingKeys: [], dueAt: null })
      expect(await scene.under.count('waiting')).toBe(0)
    })

    test('one that failed again waits again', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, ['a'])
      const due = await courier.settle(read, { deferred: [apart(read.messages[0]!, 0)] })

      const failed = await courier.settle(due, outcome(due, { failures: 2, dueAt }))
      await scene.under.advance(MINUTE_MS + 1)
      const again = await courier.settle(failed)

      expect(failed).toMatchObject({ due: [], waitingKeys: [], dueAt })
      expect(again.due).toMatchObject([{ key: 'a', failures: 2, seq: 1 }])
    })

    test('those with the same key follow one by one, when the first is gone', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, ['a', 'a', 'b', 'a'])
      const deferred = read.messages
        .filter(({ key }) => key === 'a')
        .map((one, i) => apart(one, i === 0 ? dueAt : 0, i === 0 ? 1 : 0))

      const waiting = await courier.settle(read, { deferred })
      await scene.under.advance(MINUTE_MS + 1)
      let next = await courier.settle(waiting)
      const order: [string, number, number][] = []
      while (next.due.length > 0) {
        order.push(
          ...next.due.map((one): [string, number, number] => [one.payload, one.seq, one.failures]),
        )
        next = await courier.settle(next, outcome(next, null))
      }

      expect(waiting).toMatchObject({ due: [], waitingKeys: [], dueAt })
      expect(order).toEqual([
        ['"a1"', 1, 1],
        ['"a2"', 2, 0],
        ['"a3"', 4, 0],
      ])
      expect(await scene.under.count('waiting')).toBe(0)
    })

    test('one that comes later waits behind those that wait already', async () => {
      await using scene = await open()
      const { topic, courier, read, dueAt } = await deliver(scene, ['a'])
      const first = await courier.settle(read, { deferred: [apart(read.messages[0]!, dueAt)] })
      await scene.enqueue(message(topic, { key: 'a', payload: '"a2"' }))
      const more = await courier.settle(first)

      const second = await courier.settle(more, { deferred: [apart(more.messages[0]!, 0, 0)] })
      await scene.under.advance(MINUTE_MS + 1)
      const due = await courier.settle(second)

      expect(payloads(more.messages)).toEqual(['"a2"'])
      expect(more.waitingKeys).toEqual(['a'])
      expect(second).toMatchObject({ due: [], waitingKeys: [], dueAt })
      expect(payloads(due.due)).toEqual(['"a1"'])
    })

    test('those without a key wait each for itself', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, [null, null])
      const [one, two] = read.messages

      const settled = await courier.settle(read, { deferred: [apart(one!, dueAt), apart(two!, 0)] })

      expect(settled).toMatchObject({ due: [{ seq: 2, key: null }], waitingKeys: [], dueAt })
    })

    test('one can become a dead letter, and the next of its key follows', async () => {
      await using scene = await open()
      const { courier, read } = await deliver(scene, ['a', 'a'], { headers: '{"h":1}' })
      const deferred = read.messages.map((one) => apart(one, 0))
      const due = await courier.settle(read, { deferred })

      const next = await courier.settle(due, { dead: due.due.map((one) => deadly(one)) })

      expect(payloads(next.due)).toEqual(['"a2"'])
      expect(await scene.outbox.deadLetters(ALL)).toMatchObject([
        { id: read.messages[0]!.id, seq: 1, payload: '"a1"', key: 'a', headers: '{"h":1}' },
      ])
    })

    test('as many are read as asked for', async () => {
      await using scene = await open()
      const { courier, read } = await deliver(scene, ['a', 'b', null, null])
      const deferred = read.messages.map((one) => apart(one, 0))

      const none = await courier.settle(read, { deferred }, { read: 0 })
      const some = await courier.settle(none, {}, { read: 3 })

      expect(none.due).toEqual([])
      expect(some.due.length).toBe(3)
    })

    test('a partition where messages are due is not empty', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, ['a', 'b'])
      const [a, b] = read.messages
      const deferred = [apart(a!, 0), apart(b!, dueAt)]

      const due = await courier.settle(read, { deferred }, { release: 'when-empty' })
      const empty = await courier.settle(due, outcome(due, null), { release: 'when-empty' })

      expect([due.isReleased, empty.isReleased]).toEqual([false, true])
      expect(await scene.work()).toEqual([[read.partition, dueAt]])
    })

    test('they are due while the partition itself waits for its time', async () => {
      await using scene = await open()
      const { topic, courier, read, dueAt } = await deliver(scene, ['a'])
      await scene.enqueue(message(topic))

      const settled = await courier.settle(read, { deferred: [apart(read.messages[0]!, 0)], dueAt })

      expect(settled).toMatchObject({ messages: [], due: [{ key: 'a' }], dueAt })
    })

    test('large ones are read a few at a time, one at least, whatever else is read', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const third = 'x'.repeat(Math.floor(MAX_OUTBOX_READ_BYTES / 3))
      const huge = 'x'.repeat(MAX_OUTBOX_READ_BYTES + 1)
      for (const payload of [third, third, third, third, huge, '1', '2']) {
        await scene.enqueue(message(topic, { payload }))
      }
      const courier = await scene.runtime()
      const dueAt = (await scene.now()) + MINUTE_MS
      let read = await courier.claim(topic.first)
      while (read.messages.length > 0) {
        read = await courier.settle(read, {
          deferred: read.messages.map((one) => apart(one, dueAt)),
        })
      }
      for (let i = 0; i < 2; i++) await scene.enqueue(message(topic, { payload: third }))
      await scene.under.advance(MINUTE_MS + 1)

      const sizes: [number, number][] = []
      read = await courier.settle(read)
      while (read.due.length > 0) {
        sizes.push([read.due.length, read.messages.length])
        read = await courier.settle(read, outcome(read, null))
      }

      expect(sizes).toEqual([
        [3, 2],
        [1, 0],
        [1, 0],
        [2, 0],
      ])
    })

    test('removing what is done leaves them alone', async () => {
      await using scene = await open()
      const { courier, read } = await deliver(scene, ['a', 'b'])
      const due = await courier.settle(read, { deferred: [apart(read.messages[0]!, 0)] })

      expect(await scene.outbox.removeDone(10)).toBe(2)

      expect(due.due.length).toBe(1)
      expect(await scene.under.count('waiting')).toBe(1)
    })
  })
}

/** A runtime with messages of these keys, and a time in a minute. */
async function deliver(
  scene: OutboxScene,
  keys: readonly (string | null)[],
  given: object = {},
): Promise<{
  readonly topic: Awaited<ReturnType<OutboxScene['topic']>>
  readonly courier: Courier
  readonly read: Answered
  readonly dueAt: number
}> {
  const topic = await scene.topic()
  const counts = new Map<string | null, number>()
  const all = keys.map((key) => {
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return message(topic, { key, payload: `"${key ?? ''}${count}"`, ...given })
  })
  await scene.enqueue(...all)
  const courier = await scene.runtime()
  const read = await courier.claim(topic.first)
  return { topic, courier, read, dueAt: (await scene.now()) + MINUTE_MS }
}

/** What became of all that was due. */
function outcome(
  { due }: Answered,
  retry: { failures: number; dueAt: number } | null,
): Partial<Settlement> {
  return { waiting: due.map(({ position }) => ({ position, retry })) }
}
