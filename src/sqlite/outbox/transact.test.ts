import { setImmediate as nextRound } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openSqliteOutbox } from '../../../test/support/outbox-under-test.ts'
import { openStore } from '../../../test/support/sqlite.ts'
import type { OutboxTransaction, Settlement } from '../../store/outbox-store.ts'
import { messages, OutboxScene, settlement } from '../../testing/outbox-contract/scene.ts'

const ONLY_QUERIES =
  'on SQLite a transactional handler may only await ctx.tx.query(); do other work in handle()'

/** A runtime with two messages, and a transaction for them. */
async function openScene() {
  const scene = new OutboxScene(await openSqliteOutbox())
  const topic = await scene.topic()
  await scene.enqueue(...messages(topic, 2))
  const courier = await scene.runtime()
  const read = await courier.claim(topic.first)
  const { partition, epoch, cursor } = read
  const { runtime } = courier
  const transact = (work: (tx: OutboxTransaction) => Promise<Settlement>) =>
    courier.outbox.transact({ runtime, partition, epoch, cursor, work })
  const entries = () => scene.under.readEntries()
  return Object.assign(scene, { courier, read, transact, entries })
}

function insert(tx: OutboxTransaction, entry: string): Promise<unknown> {
  return tx.attempt((queries) => queries.query('insert into entries (entry) values (?)', [entry]))
}

describe('a transaction of handlers on SQLite', () => {
  test.each([
    ['time', () => new Promise((resolve) => setTimeout(resolve, 1))],
    ['the next round of the event loop', () => nextRound()],
    ['something that never comes', () => new Promise(() => {})],
  ])('that waits for %s is rolled back', async (_, wait) => {
    await using scene = await openScene()

    const failed = scene.transact(async (tx) => {
      await insert(tx, 'a')
      await tx.attempt(async () => void (await wait()))
      return settlement(scene.read)
    })

    await expect(failed).rejects.toThrow(ONLY_QUERIES)
    expect(await scene.entries()).toEqual([])
    // The file is free again, and the same can be done without waiting.
    expect(await scene.transact(async () => settlement(scene.read))).toBe('done')
  })

  test('that went on after it was rolled back writes nothing', async () => {
    await using scene = await openScene()
    let late: Promise<unknown> | undefined
    let afterwards: unknown

    const failed = scene.transact((tx) => {
      const work = tx.attempt(async (queries) => {
        await nextRound()
        late = queries
          .query('insert into entries (entry) values (?)', ['late'])
          .catch((error: unknown) => {
            afterwards = error
          })
        await late
        return settlement(scene.read)
      })
      return work
    })
    await expect(failed).rejects.toThrow(ONLY_QUERIES)
    while (late === undefined) await nextRound()
    await late

    expect(String(afterwards)).toMatch('tx was used after the code had returned or thrown')
    expect(await scene.entries()).toEqual([])
  })

  test('may await as many statements as it likes, and promises that are settled', async () => {
    await using scene = await openScene()

    await scene.transact(async (tx) => {
      for (let i = 0; i < 200; i++) {
        await insert(tx, String(i).padStart(3, '0'))
        await Promise.all([Promise.resolve(), Promise.resolve(null)])
      }
      return settlement(scene.read)
    })

    expect((await scene.entries()).length).toBe(200)
  })

  test('that does not await its statement has run it all the same', async () => {
    await using scene = await openScene()

    await scene.transact(async (tx) => {
      await tx.attempt(async (queries) => void queries.query(`insert into entries values ('a')`))
      return settlement(scene.read)
    })

    expect(await scene.entries()).toEqual(['a'])
  })

  test('is not its own to end', async () => {
    await using scene = await openScene()

    await scene.transact(async (tx) => {
      await expect(tx.attempt((queries) => queries.query('commit'))).rejects.toThrow(
        'transaction: "commit" was not run',
      )
      return settlement(scene.read)
    })
  })

  test('that a statement has rolled back is lost as a whole', async () => {
    await using scene = await openScene()

    const lost = scene.transact(async (tx) => {
      await insert(tx, 'a')
      const failed = tx.attempt(async (queries) => {
        await queries.query(`insert or rollback into entries values ('a')`).catch(() => {})
      })
      await expect(failed).rejects.toMatchObject({ message: 'the transaction was lost' })
      return settlement(scene.read)
    })

    await expect(lost).rejects.toMatchObject({ name: 'StoreError', code: 'rejected' })
    expect(await scene.entries()).toEqual([])
    const { epoch } = scene.read
    expect(await scene.courier.step(scene.read.partition, { epoch })).toMatchObject({ cursor: 0 })
  })

  test('waits while the file is locked, and then runs once', async () => {
    await using scene = await openScene()
    const { commit } = await scene.under.openTransaction()
    let runs = 0

    const transacted = scene.transact(async () => {
      runs++
      return settlement(scene.read)
    })
    await nextRound()
    const before = runs
    await commit()

    expect(await transacted).toBe('done')
    expect([before, runs]).toEqual([0, 1])
  })

  test('is finished before the next one of the same outbox begins', async () => {
    await using scene = await openScene()
    const order: string[] = []
    const one = scene.transact(async (tx) => {
      order.push('one begins')
      await insert(tx, 'a')
      order.push('one ends')
      throw new Error('no')
    })

    const two = scene.transact(async () => {
      order.push('two')
      return settlement(scene.read)
    })

    await expect(one).rejects.toThrow('no')
    expect(await two).toBe('done')
    expect(order).toEqual(['one begins', 'one ends', 'two'])
    expect(await scene.entries()).toEqual([])
  })

  test('that is under way when the store is closed is rolled back', async () => {
    await using scene = await openScene()

    const failed = scene.transact(async (tx) => {
      await insert(tx, 'a')
      void scene.outbox.close()
      return settlement(scene.read)
    })

    await expect(failed).rejects.toMatchObject({ name: 'StoreError', code: 'closed' })
    expect(await scene.entries()).toEqual([])
  })

  test('what it has done does not count when its runtime dies afterwards', async () => {
    await using scene = await openScene()
    const [one] = scene.read.messages
    await scene.transact(async () => settlement(scene.read, { to: one!.position, passed: 1 }))
    await scene.bury(scene.courier)

    const other = await scene.otherRuntime()
    const claimed = await other.claim(scene.read.partition)

    expect(claimed).toMatchObject({
      abandoned: 1,
      messages: [{ payload: '"2"', failures: 1 }],
    })
  })

  test('needs a database in a file, and says so', async () => {
    await using scene = await openStore()
    const outbox = scene.store.outbox('outbox')
    await outbox.open()

    expect(outbox.withoutTransactions).toMatch('needs a database in a file')
    const work = { runtime: 1, partition: 0, epoch: 1, cursor: 0 }
    const failed = outbox.transact({ ...work, work: async () => ({}) as never })
    await expect(failed).rejects.toMatchObject({ code: 'misconfigured' })
  })
})
