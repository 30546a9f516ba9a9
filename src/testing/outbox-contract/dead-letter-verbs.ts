import type { DeadLetterRow } from '../../store/outbox-store.ts'
import { ALL, type OutboxContract } from './scene.ts'

/** Replays of dead letters, and their ends. */
export function describeDeadLetterVerbs({ describe, test, expect, open }: OutboxContract): void {
  describe('replays of dead letters', () => {
    test('one takes pending ones until its deadline, and answers them as they are now', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const letters = await scene.deadLetters(topic, 2)
      const before = await scene.now()

      const taken = await scene.outbox.replayDeadLetters(ALL, 60_000)
      const again = await scene.outbox.replayDeadLetters(ALL, 60_000)

      const { deadline } = taken[0]!
      expect(deadline!).toBeGreaterThanOrEqual(before + 60_000)
      expect(taken.toSorted(byLetter)).toEqual(
        letters.toSorted(byLetter).map((one) => ({ ...one, state: 'reprocessing', deadline })),
      )
      expect(await scene.outbox.deadLetters(ALL)).toEqual(taken.toSorted(byLetter).toReversed())
      expect(again).toEqual([])
    })

    test('one takes those of a replay that missed its deadline', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.deadLetters(topic, 1)
      const [first] = await scene.outbox.replayDeadLetters(ALL, 60_000)
      await scene.under.advance(60_001)

      const [second] = await scene.outbox.replayDeadLetters(ALL, 60_000)

      expect(second).toMatchObject({ letter: first!.letter, state: 'reprocessing' })
      expect(second!.deadline!).toBeGreaterThan(first!.deadline!)
    })

    test('one takes as many as asked for, of the partitions asked for', async () => {
      await using scene = await open()
      const orders = await scene.topic('orders')
      const mails = await scene.topic('mails')
      await scene.deadLetters(orders, 3)
      await scene.deadLetters(mails, 1)
      const partitions = { from: orders.first, to: orders.first }

      const two = await scene.outbox.replayDeadLetters({ ...ALL, partitions, limit: 2 }, 60_000)
      const one = await scene.outbox.replayDeadLetters({ ...ALL, partitions, limit: 2 }, 60_000)

      expect([two.length, one.length]).toEqual([2, 1])
      expect([...two, ...one].map(({ partition }) => partition)).toEqual(
        [1, 2, 3].map(() => orders.first),
      )
    })

    test('two at once take each letter once', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const other = await scene.under.another()
      await scene.deadLetters(topic, 10)

      const [a, b] = await Promise.all([
        scene.outbox.replayDeadLetters({ ...ALL, limit: 5 }, 60_000),
        other.outbox.replayDeadLetters({ ...ALL, limit: 5 }, 60_000),
      ])
      const rest = await scene.outbox.replayDeadLetters(ALL, 60_000)

      const taken = [...a, ...b, ...rest].map(({ letter }) => letter)
      expect(new Set(taken).size).toBe(10)
      expect(taken.length).toBe(10)
    })

    test('what succeeds is resolved; what was not taken is left alone', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [pending, taken] = await scene.deadLetters(topic, 2)
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 1 }, 60_000)

      const all = [taken!.letter, pending!.letter, 4_711]
      const resolved = await scene.outbox.resolveDeadLetters(all)
      const again = await scene.outbox.resolveDeadLetters(all)

      expect([resolved, again]).toEqual([1, 0])
      expect(await scene.outbox.resolveDeadLetters([])).toBe(0)
      const [one, two] = await scene.outbox.deadLetters(ALL)
      expect(one).toEqual(pending)
      expect(two).toMatchObject({ ...taken, state: 'resolved', completedAt: two!.completedAt })
      expect(two!.completedAt!).toBeGreaterThanOrEqual(taken!.failedAt)
    })

    test('what fails again is pending again, with the new reason', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [pending, taken] = await scene.deadLetters(topic, 2)
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 1 }, 60_000)
      await scene.under.advance(1_000)

      const all = [taken!.letter, pending!.letter]
      const rejected = await scene.outbox.rejectDeadLetters(all, 'still "no"')

      expect(rejected).toBe(1)
      const [one, two] = await scene.outbox.deadLetters(ALL)
      expect(one).toEqual({
        ...taken,
        failures: taken!.failures + 1,
        reason: 'still "no"',
        failedAt: one!.failedAt,
      })
      expect(one!.failedAt - taken!.failedAt).toBeGreaterThanOrEqual(1_000)
      expect(two).toEqual(pending)
    })

    test('one that was given up is pending again after its deadline', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const letters = await scene.deadLetters(topic, 2)
      await scene.outbox.replayDeadLetters(ALL, 60_000)

      await scene.outbox.tidy({ keysMs: 0, lettersMs: 0 })
      const early = await scene.outbox.countDeadLetters({ ...ALL, state: 'pending' })
      await scene.under.advance(60_001)
      await scene.outbox.tidy({ keysMs: 0, lettersMs: 0 })

      expect(early).toBe(0)
      expect(await scene.outbox.deadLetters(ALL)).toEqual(letters)
    })

    test('so it is for who looks before it is tidied up', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const letters = await scene.deadLetters(topic, 3)
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 2 }, 60_000)
      const counts = async () => [
        await scene.outbox.countDeadLetters({ ...ALL, state: 'pending' }),
        await scene.outbox.countDeadLetters({ ...ALL, state: 'reprocessing' }),
      ]

      const before = await counts()
      await scene.under.advance(60_001)

      expect([before, await counts()]).toEqual([
        [1, 2],
        [3, 0],
      ])
      expect(await scene.outbox.deadLetters(ALL)).toEqual(letters)
      expect(await scene.outbox.deadLetters({ ...ALL, state: 'pending' })).toEqual(letters)
      expect(await scene.outbox.deadLetters({ ...ALL, state: 'reprocessing' })).toEqual([])
      expect(await scene.outbox.discardDeadLetters(ALL)).toBe(3)
      expect(await scene.outbox.deadLetters(ALL)).toMatchObject(
        letters.map(() => ({ state: 'discarded', deadline: null })),
      )
    })
  })

  describe('the end of dead letters', () => {
    test('pending ones are discarded, as many as asked for', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.deadLetters(topic, 4)
      await scene.outbox.replayDeadLetters({ ...ALL, limit: 1 }, 60_000)

      const some = await scene.outbox.discardDeadLetters({ ...ALL, limit: 2 })
      const rest = await scene.outbox.discardDeadLetters(ALL)
      const none = await scene.outbox.discardDeadLetters(ALL)

      expect([some, rest, none]).toEqual([2, 1, 0])
      const discarded = await scene.outbox.deadLetters({ ...ALL, state: 'discarded' })
      expect(discarded.map(({ completedAt }) => completedAt === null)).toEqual([
        false,
        false,
        false,
      ])
      expect(await scene.outbox.countDeadLetters({ ...ALL, state: 'reprocessing' })).toBe(1)
    })

    test('only those that are resolved or discarded are cleaned up', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.deadLetters(topic, 5)
      const taken = await scene.outbox.replayDeadLetters({ ...ALL, limit: 2 }, 60_000)
      await scene.outbox.resolveDeadLetters([taken[0]!.letter])
      await scene.outbox.discardDeadLetters({ ...ALL, limit: 2 })
      const elsewhere = { from: topic.first + 1, to: topic.first + 1 }

      const other = await scene.outbox.cleanupDeadLetters({ ...ALL, partitions: elsewhere })
      const one = await scene.outbox.cleanupDeadLetters({ ...ALL, limit: 1 })
      const rest = await scene.outbox.cleanupDeadLetters(ALL)

      expect([other, one, rest]).toEqual([0, 1, 2])
      const left = await scene.outbox.deadLetters(ALL)
      expect(left.map(({ state }) => state).toSorted()).toEqual(['pending', 'reprocessing'])
    })

    test('completed ones are removed when they are old, and no others', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      await scene.deadLetters(topic, 3)
      await scene.outbox.discardDeadLetters({ ...ALL, limit: 1 })
      await scene.under.advance(5_000)
      await scene.outbox.discardDeadLetters({ ...ALL, limit: 1 })
      await scene.under.advance(6_000)

      await scene.outbox.tidy({ keysMs: 0, lettersMs: 10_000 })

      const left = await scene.outbox.deadLetters(ALL)
      expect(left.map(({ state }) => state).toSorted()).toEqual(['discarded', 'pending'])
    })

    test('numbers of dead letters are not used again', async () => {
      await using scene = await open()
      const topic = await scene.topic()
      const [first] = await scene.deadLetters(topic, 1)
      await scene.outbox.discardDeadLetters(ALL)
      await scene.outbox.cleanupDeadLetters(ALL)

      const [second] = await scene.deadLetters(topic, 1)

      expect(second!.letter).toBeGreaterThan(first!.letter)
    })
  })
}

function byLetter(a: DeadLetterRow, b: DeadLetterRow): number {
  return a.letter - b.letter
}
