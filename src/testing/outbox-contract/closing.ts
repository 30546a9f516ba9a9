import type { OutboxStore } from '../../store/outbox-store.ts'
import { StoreError } from '../../store/store-error.ts'
import { errorOf } from '../contract/scene.ts'
import { ALL, LEASE_MS, type OutboxContract, message, payloads, step } from './scene.ts'

/** What happens after the end. */
export function describeClosing({ describe, test, expect, open }: OutboxContract): void {
  describe('closing', () => {
    test('every call after the workflow store was closed fails with `closed`', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.under.store.close()

      for (const [name, call] of Object.entries(CALLS)) {
        const error = await errorOf(call(scene.outbox, topic.first))
        const code = error instanceof StoreError ? error.code : `not a StoreError: ${String(error)}`
        expect({ name, code }).toEqual({ name, code: 'closed' })
      }
    })

    test('an outbox that is closed leaves the workflow store and other connections alone', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.enqueue(message(topic))
      const other = await scene.otherRuntime()

      await scene.outbox.close()
      await scene.outbox.close()

      expect(await scene.under.store.now()).toBeGreaterThan(0)
      expect(payloads((await other.claim(topic.first)).messages)).toEqual(['"hello"'])
    })
  })
}

/** One call of every method that goes to the database by itself. */
const CALLS: Readonly<
  Record<
    Exclude<
      keyof OutboxStore,
      'kind' | 'withoutTransactions' | 'within' | 'listen' | 'close' | 'stayAwake' | 'wakeOthers'
    >,
    (outbox: OutboxStore, partition: number) => Promise<unknown>
  >
> = {
  open: (outbox) => outbox.open(),
  topics: (outbox) => outbox.topics([{ name: 'orders', partitions: 1 }]),
  allTopics: (outbox) => outbox.allTopics(),
  steps: (outbox, partition) => outbox.steps(1, [step(partition)]),
  transact: (outbox, partition) =>
    outbox.transact({
      runtime: 1,
      partition,
      epoch: 1,
      cursor: 0,
      work: () => Promise.reject(new Error('it was run')),
    }),
  look: (outbox) => outbox.look(null),
  moveDelayed: (outbox) => outbox.moveDelayed(),
  tick: (outbox) => outbox.tick(1, LEASE_MS),
  removeDone: (outbox) => outbox.removeDone(1),
  tidy: (outbox) => outbox.tidy({ keysMs: 0, lettersMs: 0 }),
  stats: (outbox) => outbox.stats([1]),
  deadLetters: (outbox) => outbox.deadLetters(ALL),
  countDeadLetters: (outbox) => outbox.countDeadLetters(ALL),
  replayDeadLetters: (outbox) => outbox.replayDeadLetters(ALL, 1),
  requeueDeadLetters: (outbox) => outbox.requeueDeadLetters([1]),
  resolveDeadLetters: (outbox) => outbox.resolveDeadLetters([1]),
  rejectDeadLetters: (outbox) => outbox.rejectDeadLetters([1], 'no'),
  discardDeadLetters: (outbox) => outbox.discardDeadLetters(ALL),
  cleanupDeadLetters: (outbox) => outbox.cleanupDeadLetters(ALL),
}
