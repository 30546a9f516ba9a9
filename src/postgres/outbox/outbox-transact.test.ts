import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Client, Pool, type PoolClient } from 'pg'
import { describe, expect, test } from 'vitest'
import { deferred, eventually } from '../../../test/support/engine.ts'
import { openPostgresOutbox } from '../../../test/support/outbox-under-test.ts'
import { postgresUrl } from '../../../test/support/postgres.ts'
import { oldDriverPool } from '../../../test/support/old-driver.ts'
import type { OutboxTransaction, Settlement } from '../../store/outbox-store.ts'
import { errorOf } from '../../testing/contract/scene.ts'
import {
  type Answered,
  messages,
  LEASE_MS,
  OutboxScene,
  settlement,
} from '../../testing/outbox-contract/scene.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

/** A runtime that owns partitions with two messages each, and transactions for them. */
async function openScene(partitions = 1) {
  const under = await openPostgresOutbox()
  const scene = new OutboxScene(under)
  const topic = await scene.topic('orders', partitions)
  const courier = await scene.runtime()
  const reads: Answered[] = []
  for (let i = 0; i < partitions; i++) {
    await scene.enqueue(...messages({ ...topic, first: topic.first + i }, 2))
    reads.push(await courier.claim(topic.first + i))
  }
  const transact = (
    work: (tx: OutboxTransaction) => Promise<Settlement>,
    { partition, epoch, cursor } = reads[0]!,
  ) => courier.outbox.transact({ runtime: courier.runtime, partition, epoch, cursor, work })
  const insert = (entry: string) => `insert into ${under.entries} (entry) values ('${entry}')`
  /** How many statements like this one run in the database. */
  const running = async (like: string): Promise<number> => {
    const rows = await under.sql(
      `select 1 from pg_stat_activity where state = 'active' and query like ?`,
      `${like}%`,
    )
    return rows.length
  }
  const { sql } = under
  return Object.assign(scene, { sql, courier, read: reads[0]!, reads, transact, insert, running })
}

describe('a handler cannot end its transaction', () => {
  test.each([
    ['several statements', 'select 1; commit; begin'],
    ['a commit behind a nested comment', '/* a /* nested */ comment */ commit'],
  ])('by %s', async (_, text) => {
    await using scene = await openScene()

    const failed = await errorOf(
      scene.transact(async (tx) => {
        await tx.attempt(async (queries) => {
          await queries.query(scene.insert('a'))
          await queries.query(text)
        })
        return settlement(scene.read)
      }),
    )

    expect(failed).toBeInstanceOf(Error)
    expect(await scene.under.readEntries()).toEqual([])
    const { courier, read } = scene
    expect((await courier.settle(read, { to: read.cursor, passed: 0 })).messages).toHaveLength(2)
  })

  test('and if one has a way, its messages are not settled in another transaction', async () => {
    await using scene = await openScene()
    const { read, courier } = scene
    const [row] = await scene.sql<{ schema: string }>('select current_schema() as schema')
    const pool = oldDriverPool()
    const store = postgresWorkflowStore({ source: { pool }, schema: row!.schema })
    const { partition, epoch, cursor } = read
    const end = (text: string) =>
      errorOf(
        store.outbox!('outbox').transact({
          runtime: courier.runtime,
          partition,
          epoch,
          cursor,
          async work(tx) {
            await tx.attempt((queries) => queries.query(text).catch(() => {}))
            return settlement(read)
          },
        }),
      )

    const failed = [
      await end('select 1; commit'),
      await end('select 1; commit; begin; savepoint holdfast'),
    ]
    await store.close()
    await pool.end()

    for (const error of failed) {
      expect(error).toMatchObject({ message: expect.stringContaining('a handler ended it') })
    }
    expect((await courier.settle(read, { to: read.cursor, passed: 0 })).messages).toHaveLength(2)
  })
})

describe('a statement that hangs', () => {
  test('is not waited for once its handler was given up, and leaves no lock', async () => {
    await using scene = await openScene(6)
    const error = new Error('given up')
    // Other tests have statements that hang as well.
    const hang = `select pg_sleep(50) as "${randomUUID()}`

    const ends = scene.reads.map((read) =>
      errorOf(
        scene.transact(async (tx) => {
          const text = `${hang} ${read.partition}"`
          const asleep = tx.attempt((queries) => queries.query(text))
          asleep.catch(() => {})
          await eventually(async () => (await scene.running(text)) > 0)
          throw error
        }, read),
      ),
    )

    expect(await Promise.all(ends)).toEqual(scene.reads.map(() => error))
    for (const read of scene.reads) {
      expect((await scene.courier.settle(read)).messages).toEqual([])
    }
    expect(await scene.running(hang)).toBe(0)
  })

  test('that waits for a lock does not keep the locks it has', async () => {
    await using scene = await openScene()
    const { read } = scene
    const other = await scene.under.openTransaction()
    await (other.tx as Client).query(scene.insert('a'))

    const thrown = await errorOf(
      scene.transact(async (tx) => {
        const waiting = tx.attempt(async (queries) => {
          await queries.query(scene.insert('b'))
          await queries.query(scene.insert('a'))
        })
        waiting.catch(() => {})
        await eventually(async () => (await scene.running(scene.insert('a'))) > 0)
        throw new Error('given up')
      }),
    )
    const next = await scene.courier.settle(read, { to: read.cursor, passed: 0 })
    await (other.tx as Client).query(scene.insert('b'))
    await other.rollback()

    expect(thrown).toMatchObject({ message: 'given up' })
    expect(next.messages).toHaveLength(2)
  })

  test('has an end in the server, too', async () => {
    await using scene = await openScene()
    const limits: unknown[] = []

    await scene.transact(async (tx) => {
      await tx.attempt(async (queries) => {
        const { rows } = await queries.query('show statement_timeout')
        limits.push(...rows)
      })
      return settlement(scene.read)
    })

    expect(limits).toEqual([{ statement_timeout: '33s' }])
  })
})

test('a connection that is cut in the middle of a statement ends its transaction soon', async () => {
  await using scene = await openScene()
  const { read, courier } = scene
  const [row] = await scene.sql<{ schema: string }>('select current_schema() as schema')
  const pool = new Pool({ connectionString: postgresUrl() })
  let cut: (() => void) | undefined
  // As a process that is killed does.
  pool.on('acquire', (client) => (cut = () => socketOf(client).destroy()))
  const store = postgresWorkflowStore({ source: { pool }, schema: row!.schema })
  const hang = `select pg_sleep(50) as "${randomUUID()}"`
  const { partition, epoch, cursor } = read

  const failed = errorOf(
    store.outbox!('outbox').transact({
      runtime: courier.runtime,
      partition,
      epoch,
      cursor,
      async work(tx) {
        await tx.attempt((queries) => queries.query(hang))
        return settlement(read)
      },
    }),
  )
  await eventually(async () => (await scene.running(hang)) > 0)
  const cutMs = performance.now()
  cut!()
  await eventually(async () => (await scene.running(hang)) === 0)

  // Its limit would be 33 seconds.
  expect(performance.now() - cutMs).toBeLessThan(15_000)
  expect(await failed).toMatchObject({ code: 'connection_lost' })
  await store.close()
  await pool.end()
})

test('others look again soon for a runtime whose lease has ended in the middle of a transaction', async () => {
  await using scene = await openScene()
  const other = await scene.runtime()
  const during: (number | null)[] = []

  await scene.transact(async () => {
    await scene.under.advance(LEASE_MS + 1)
    const { clock, leaseEndsAt } = await other.tick()
    during.push(leaseEndsAt && leaseEndsAt - clock)
    return settlement(scene.read)
  })
  const { work, leaseEndsAt } = await other.tick()

  expect(during).toEqual([1_000])
  expect(leaseEndsAt).toBe(null)
  expect(work).toEqual([])
})

test('a handler that was given up, and ends later, does not touch the connection', async () => {
  await using scene = await openScene()
  const ending = deferred<never>()
  let late: Promise<unknown> | undefined

  await errorOf(
    scene.transact(async (tx) => {
      const begun = deferred()
      late = errorOf(
        tx.attempt(() => {
          begun.resolve()
          return ending.promise
        }),
      )
      await begun.promise
      throw new Error('given up')
    }),
  )
  // The same connection, by then.
  const done = scene.transact(async (tx) => {
    await tx.attempt((queries) => queries.query(scene.insert('a')))
    ending.reject(new Error('too late'))
    await late
    await tx.attempt((queries) => queries.query(scene.insert('b')))
    return settlement(scene.read)
  })

  expect(await done).toBe('done')
  expect(await scene.under.readEntries()).toEqual(['a', 'b'])
})

function socketOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}
