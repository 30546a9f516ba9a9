import { systemClock } from '../../base/time/clock.ts'
import { silentLog } from '../../base/log.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { HintSubscription } from '../../store/hints.ts'
import { type OutboxContract, message } from './scene.ts'

/** Hints of what others enqueue. */
export function describeListening({ describe, test, expect, open }: OutboxContract): void {
  describe('listening', () => {
    test('what is enqueued through another connection brings a hint', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 4)
      const partition = topic.first + 2
      const other = await scene.under.another()
      await using listener = await listenTo(scene.outbox)

      await scene.enqueueTo(other.outbox, message(topic, { partition }))

      await listener.until(({ partitions, at }) => isAbout(partitions, partition) && at === 0)
      expect(await scene.ready()).toEqual([partition])
    })

    test('what is enqueued through the same store brings a hint', async () => {
      await using scene = await open()
      const topic = await scene.topic('orders', 4)
      const partition = topic.first + 2
      await using listener = await listenTo(scene.outbox)

      await scene.enqueue(message(topic, { partition }))

      await listener.until(({ partitions, at }) => isAbout(partitions, partition) && at === 0)
      expect(listener.listening.isListening).toBe(true)
    })

    test('the hint of a delayed message says when it is due', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await using listener = await listenTo(scene.outbox)

      await scene.enqueue(message(topic, { delayMs: 60_000 }))

      const { at } = await listener.until((one) => one.at > 0)
      expect(at).toBe((await scene.outbox.moveDelayed()).nextAt)
    })

    test('a listener looks at the store once hints arrive', async () => {
      await using scene = await open()
      await using listener = await listenTo(scene.outbox)

      expect(listener.looks()).toBeGreaterThan(0)
      expect(listener.listening.health().state).toBe('listening')
    })

    test('a listener that has closed receives nothing', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const left = await listenTo(scene.outbox)
      await using stays = await listenTo(scene.outbox)
      await left.listening.close()

      await scene.enqueue(message(topic))

      await stays.until(({ partitions }) => isAbout(partitions, topic.first))
      expect(left.hints).toEqual([])
      expect(left.listening.isListening).toBe(false)
    })
  })
}

interface ReceivedHint {
  readonly partitions: readonly number[]
  readonly at: number
}

interface TestListener extends AsyncDisposable {
  readonly listening: HintSubscription
  readonly hints: readonly ReceivedHint[]
  looks(): number
  /** The first hint that is wanted, once it is there. */
  until(isWanted: (hint: ReceivedHint) => boolean): Promise<ReceivedHint>
}

/** Listens, and waits until it does. */
async function listenTo(outbox: OutboxStore): Promise<TestListener> {
  const hints: ReceivedHint[] = []
  let looks = 0
  let wake: (() => void) | undefined
  const change = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  const listening = outbox.listen({
    clock: systemClock(),
    log: silentLog,
    onMessages(partitions, at) {
      hints.push({ partitions, at })
      wake?.()
    },
    async look() {
      looks++
      wake?.()
      return false
    },
  })
  while (looks === 0) await change()
  return {
    listening,
    hints,
    looks: () => looks,
    async until(isWanted) {
      for (;;) {
        const found = hints.find(isWanted)
        if (found !== undefined) return found
        await change()
      }
    },
    [Symbol.asyncDispose]: () => listening.close(),
  }
}

/** None means any. */
function isAbout(partitions: readonly number[], partition: number): boolean {
  return partitions.length === 0 || partitions.includes(partition)
}
