import type { Settlement } from '../../store/outbox-store.ts'
import {
  type Answered,
  type Courier,
  message,
  messages,
  nothing,
  type OutboxContract,
  type OutboxScene,
  payloads,
} from './scene.ts'

const MINUTE_MS = 60_000

/** Messages with a time of their own behind others, in the order of their partition. */
export function describeLater({ describe, test, expect, open }: OutboxContract): void {
  describe('messages that are tried again later than those before them', () => {
    test('are not read before their time, and neither is what is behind them', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, 4)

      const settled = await courier.settle(read, failed(read, [2, 3], dueAt))

      expect(payloads(settled.messages)).toEqual(['"1"', '"2"'])
      expect([...settled.later]).toEqual([
        [read.messages[2]!.position, dueAt],
        [read.messages[3]!.position, dueAt + 1],
      ])
      // There is something to deliver now.
      expect(settled).toMatchObject({ dueAt: null })
    })

    test('are what their partition waits for, once nothing is before them', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, 3)
      const { partition } = read
      const before = await courier.settle(read, failed(read, [1], dueAt))

      const { failures, later } = before
      const settled = await courier.settle(before, { failures, later }, { release: 'when-empty' })
      const work = await scene.work()
      const early = await courier.step(partition, { release: 'when-empty' })
      await scene.under.advance(MINUTE_MS + 1)
      const due = await (await scene.otherRuntime()).claim(partition)

      expect(settled).toMatchObject({ messages: [], dueAt, isReleased: true })
      expect(work).toEqual([[partition, dueAt]])
      expect(early).toMatchObject({ messages: [], dueAt, isReleased: true })
      expect(due.messages).toMatchObject([
        { payload: '"2"', seq: 2, failures: 1 },
        { payload: '"3"', seq: 3, failures: 0 },
      ])
      expect(due.dueAt).toBe(null)
    })

    test('are found at once by the next claim, though nothing was read when those before them were done', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, 2)
      const before = await courier.settle(read, failed(read, [1], dueAt))
      const { later } = before

      await courier.settle(before, { later }, { read: 0, release: 'always' })
      const claimed = await courier.step(read.partition, { release: 'when-empty' })

      expect(claimed).toMatchObject({ messages: [], dueAt, isReleased: true })
      expect(await scene.ready()).toEqual([])
    })

    test('keep their place before what is enqueued or was done meanwhile', async () => {
      await using scene = await open()
      const { topic, courier, read, dueAt } = await deliver(scene, 3)
      const [one, two, three] = read.messages
      const { position } = two!
      await scene.enqueue(message(topic, { payload: '"new"' }))

      const settled = await courier.settle(read, {
        to: one!.position,
        passed: 1,
        done: [three!.position],
        failures: new Map([[position, 1]]),
        later: new Map([[position, dueAt]]),
      })
      await scene.under.advance(MINUTE_MS + 1)
      const due = await courier.settle(settled, { ...nothing(settled), done: settled.done })

      expect(settled).toMatchObject({ messages: [], dueAt })
      expect(payloads(due.messages)).toEqual(['"2"', '"new"'])
    })

    test('do not count the death of a process that had not read them', async () => {
      await using scene = await open()
      const { courier, read, dueAt } = await deliver(scene, 3)
      await courier.settle(read, failed(read, [1], dueAt))
      await scene.bury(courier)

      const claimed = await (await scene.otherRuntime()).claim(read.partition)

      const [one, two] = read.messages
      expect(claimed.abandoned).toBe(1)
      expect(claimed.messages).toEqual([{ ...one!, failures: 1 }])
      expect([...claimed.later]).toEqual([[two!.position, dueAt]])
      expect(claimed.failures.get(two!.position)).toBe(1)
    })

    test('are not ready before their time', async () => {
      await using scene = await open()
      const { topic, courier, read, dueAt } = await deliver(scene, 3)
      await courier.settle(read, failed(read, [1], dueAt), { read: 0, release: 'always' })
      const stats = async () => {
        const { partitions } = await scene.outbox.stats([topic.topic])
        return [partitions[0]!.depth, partitions[0]!.ready]
      }

      const early = await stats()
      await scene.under.advance(MINUTE_MS + 1)

      expect([early, await stats()]).toEqual([
        [3, 1],
        [3, 3],
      ])
    })
  })
}

/** A runtime with so many messages, and a time in a minute. */
async function deliver(
  scene: OutboxScene,
  count: number,
): Promise<{
  readonly topic: Awaited<ReturnType<OutboxScene['topic']>>
  readonly courier: Courier
  readonly read: Answered
  readonly dueAt: number
}> {
  const topic = await scene.topic()
  await scene.enqueue(...messages(topic, count))
  const courier = await scene.runtime()
  const read = await courier.claim(topic.first)
  return { topic, courier, read, dueAt: (await scene.now()) + MINUTE_MS }
}

/** Nothing is done, and those at these places failed; each may come a millisecond after the one before. */
function failed(read: Answered, places: readonly number[], dueAt: number): Settlement {
  const positions = places.map((place) => read.messages[place]!.position)
  return nothing(read, {
    failures: new Map(positions.map((position) => [position, 1])),
    later: new Map(positions.map((position, i) => [position, dueAt + i])),
  })
}
