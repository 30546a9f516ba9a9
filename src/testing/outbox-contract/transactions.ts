import type {
  HandlerQueries,
  OutboxTransact,
  OutboxTransaction,
  Settlement,
} from '../../store/outbox-store.ts'
import { errorOf } from '../contract/scene.ts'
import {
  ALL,
  type Courier,
  deadly,
  type OutboxContract,
  messages,
  type OutboxScene,
  payloads,
  settlement,
  type Answered,
} from './scene.ts'

/** Handlers in a transaction of the store. */
export function describeTransactions({ describe, test, expect, open }: OutboxContract): void {
  describe('transactions of handlers', () => {
    test('what a handler writes and the new cursor are there together', async () => {
      await using scene = await open()
      const { courier, read, transact, insert } = await deliver(scene, 2)

      const verdict = await transact(async (tx) => {
        for (const { payload } of read.messages) await tx.attempt(insert(payload))
        return settlement(read)
      })

      expect(verdict).toBe('done')
      expect(await scene.under.readEntries()).toEqual(['"1"', '"2"'])
      const next = await courier.claim(read.partition)
      expect(next).toMatchObject({ cursor: read.messages[1]!.position, messages: [] })
    })

    test('a statement answers its rows, or how many it changed', async () => {
      await using scene = await open()
      const { read, transact } = await deliver(scene, 1)
      const { entries } = scene.under
      const answers: unknown[] = []

      await transact(async (tx) => {
        await tx.attempt(async (queries) => {
          answers.push(
            await queries.query(`insert into ${entries} (entry) values ($1), ($2)`, ['b', 'a']),
            await queries.query(`select entry from ${entries} where entry <> $1 order by entry`, [
              '$1',
            ]),
            await queries.query(`update ${entries} set entry = $2 where entry = $1`, ['a', 'c']),
            await queries.query(`insert into ${entries} (entry) values ($1) returning entry`, [
              `it's`,
            ]),
            await queries.query(`delete from ${entries} where entry = 'nobody'`),
          )
        })
        return settlement(read)
      })

      expect(answers).toMatchObject([
        { rows: [], rowCount: 2 },
        { rows: [{ entry: 'a' }, { entry: 'b' }], rowCount: 2 },
        { rows: [], rowCount: 1 },
        { rows: [{ entry: `it's` }], rowCount: 1 },
        { rows: [], rowCount: 0 },
      ])
      expect(await scene.under.readEntries()).toEqual(['b', 'c', `it's`])
    })

    test('an attempt that throws is undone, and the rest counts', async () => {
      await using scene = await open()
      const { courier, read, transact, insert } = await deliver(scene, 3)
      const [one, two, three] = read.messages
      const error = new Error('no')
      let thrown: unknown

      await transact(async (tx) => {
        await tx.attempt(insert('a'))
        thrown = await errorOf(
          tx.attempt(async (queries) => {
            await insert('b')(queries)
            throw error
          }),
        )
        await tx.attempt(insert('c'))
        return settlement(read, { dead: [deadly(two!)] })
      })

      expect(thrown).toBe(error)
      expect(await scene.under.readEntries()).toEqual(['a', 'c'])
      expect(await scene.outbox.deadLetters(ALL)).toMatchObject([{ payload: '"2"' }])
      expect((await courier.claim(read.partition)).messages).toEqual([])
      expect(one!.position < three!.position).toBe(true)
    })

    test('a statement that fails is an error of its attempt', async () => {
      await using scene = await open()
      const { read, transact, insert } = await deliver(scene, 1)

      await transact(async (tx) => {
        await tx.attempt(insert('a'))
        await errorOf(
          tx.attempt(async (queries) => {
            await insert('b')(queries)
            await insert('a')(queries)
          }),
        )
        await tx.attempt(insert('c'))
        return settlement(read)
      })

      expect(await scene.under.readEntries()).toEqual(['a', 'c'])
    })

    test('what the work throws is thrown as it is, and nothing has happened', async () => {
      await using scene = await open()
      const { courier, read, transact, insert } = await deliver(scene, 2)
      const error = new Error('no')

      const thrown = await errorOf(
        transact(async (tx) => {
          await tx.attempt(insert('a'))
          throw error
        }),
      )

      expect(thrown).toBe(error)
      expect(await scene.under.readEntries()).toEqual([])
      const again = await courier.settle(read, { to: read.cursor, passed: 0 })
      expect(again.messages).toEqual(read.messages)
    })

    test('the partition is kept, and its next messages can be read', async () => {
      await using scene = await open()
      const { courier, read, transact } = await deliver(scene, 3)
      const [one, two] = read.messages

      await transact(async () =>
        settlement(read, { to: one!.position, passed: 1, failures: new Map([[two!.position, 1]]) }),
      )

      const { epoch, partition } = read
      const next = await courier.step(partition, { epoch })
      expect(next).toMatchObject({
        state: 'ok',
        epoch,
        cursor: one!.position,
        messages: [
          { payload: '"2"', seq: 2, failures: 1 },
          { payload: '"3"', seq: 3, failures: 0 },
        ],
      })
    })

    test('a runtime that is not the owner at this epoch and cursor gets `lost`, and runs nothing', async () => {
      await using scene = await open()
      const { courier, read, transact } = await deliver(scene, 2)
      const other = await scene.otherRuntime()

      const wrong: Partial<OutboxTransact>[] = [
        { epoch: read.epoch + 1 },
        { epoch: read.epoch - 1 },
        { cursor: read.messages[0]!.position },
        { runtime: other.runtime },
        { partition: read.partition + 99 },
      ]
      for (const given of wrong) expect(await transact(unreached, given)).toBe('lost')
      await scene.bury(courier)

      expect(await transact(unreached)).toBe('lost')
    })

    test('two at once come one after the other', async () => {
      await using scene = await open()
      const { courier, read, transact, insert } = await deliver(scene, 1)
      await scene.enqueue(...messages(await scene.topic('mails'), 1))
      const mails = await courier.claim((await scene.topic('mails')).first)
      const { epoch, cursor, partition } = mails

      const verdicts = await Promise.all([
        transact(async (tx) => {
          await tx.attempt(insert('a'))
          return settlement(read)
        }),
        transact(
          async (tx) => {
            await tx.attempt(insert('b'))
            return settlement(mails)
          },
          { epoch, cursor, partition },
        ),
      ])

      expect(verdicts).toEqual(['done', 'done'])
      expect(await scene.under.readEntries()).toEqual(['a', 'b'])
      expect(payloads((await courier.claim(partition)).messages)).toEqual([])
    })
  })
}

function unreached(): Promise<Settlement> {
  return Promise.reject(new Error('it was run'))
}

interface Delivery {
  readonly courier: Courier
  readonly read: Answered
  /** Runs work for what was read. */
  readonly transact: (
    work: (tx: OutboxTransaction) => Promise<Settlement>,
    given?: Partial<OutboxTransact>,
  ) => Promise<'done' | 'lost'>
  /** Code that adds an entry to the table of the user. */
  readonly insert: (entry: string) => (queries: HandlerQueries) => Promise<void>
}

/** A runtime with so many messages. */
async function deliver(scene: OutboxScene, count: number): Promise<Delivery> {
  const topic = await scene.topic()
  await scene.enqueue(...messages(topic, count))
  const courier = await scene.runtime()
  const read = await courier.claim(topic.first)
  const { partition, epoch, cursor } = read
  const { runtime } = courier
  return {
    courier,
    read,
    transact: (work, given = {}) =>
      courier.outbox.transact({ runtime, partition, epoch, cursor, work, ...given }),
    insert: (entry) => async (queries) => {
      await queries.query(`insert into ${scene.under.entries} (entry) values ($1)`, [entry])
    },
  }
}
