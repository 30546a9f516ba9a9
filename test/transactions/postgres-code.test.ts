import { randomBytes } from 'node:crypto'
import { Pool, type PoolClient } from 'pg'
import { describe, expect, test } from 'vitest'
import type { Queryable } from '../../src/postgres/transactions/transact-queries.ts'
import { transactorOf } from '../../src/postgres/transactions/transactor.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { Transact } from '../../src/store/transactions.ts'
import { deferred } from '../support/engine.ts'
import { oldDriverPool } from '../support/old-driver.ts'
import { postgresUrl } from '../support/postgres.ts'
import { openPostgres } from '../support/store-under-test.ts'
import { openScene, type Scene } from './scene.ts'

type Code = (tx: Queryable, table: string) => Promise<unknown>

const killed: Code = async (tx) => tx.query('select pg_terminate_backend(pg_backend_pid())')
const insert: Code = (tx, table) => tx.query(`insert into ${table} values ('a')`)

/** The outcome of a transaction with this code. */
async function attempt(scene: Scene, code: Code, store = scene.under.store): Promise<unknown> {
  const work: Transact['code'] = async (tx) => {
    await code(tx as Queryable, scene.table)
    return '1'
  }
  return store.transact(scene.work(work)).catch((error: unknown) => error)
}

describe('code that misuses its transaction', () => {
  test.each<[string, RegExp, Code]>([
    [
      'commits',
      /^transaction: "commit" was not sent: Holdfast commits when the code returns/,
      (tx) => tx.query('commit'),
    ],
    [
      'swallows the error of a statement',
      /^transaction: its code returned after a statement had failed \(division by zero\).*savepoint/,
      (tx) => tx.query('select 1/0').catch(() => {}),
    ],
    [
      'leaves a statement under way',
      /^transaction: its code returned while 1 of its statements were still running: await each/,
      async (tx) => void tx.query('select pg_sleep(0.05)'),
    ],
    [
      'hands over something else than SQL',
      /^transaction: tx.query\(\) takes SQL and values, got an object$/,
      (tx) => tx.query({ text: 'select 1' } as unknown as string),
    ],
  ])('one that %s is refused, and nothing has happened', async (_, message, code) => {
    await using scene = await openScene(openPostgres)

    const end = await attempt(scene, async (tx, table) => {
      await tx.query(`insert into ${table} values ('a')`)
      await code(tx, table)
    })

    expect(end).toBeInstanceOf(Error)
    expect((end as Error).message).toMatch(message)
    expect(await scene.entries()).toEqual([])
    expect(await scene.inbox()).toEqual([])
    expect(await attempt(scene, async () => {})).toBe('done')
  })

  test.each<[string, string, unknown[]?]>([
    ['a wrong number of values', 'select $1::int, $2::int', [1]],
    ['a feature that the server does not have', 'select count(*) from pg_class for update'],
    ['a missing prepared statement', 'execute nothing_of_this_name'],
    ['a code of its own', `do $$ begin raise exception 'x' using errcode = '57P01'; end $$`],
    ['values that are no array', 'select 1', 'ab' as never],
    [
      'a value that the driver cannot send',
      'select $1::text',
      [
        {
          toJSON() {
            throw new Error('no JSON')
          },
        },
      ],
    ],
  ])('%s is an error of the code, not of the connection', async (_, text, values) => {
    await using scene = await openScene(openPostgres)

    const end = await attempt(scene, async (tx, table) => {
      await insert(tx, table)
      await tx.query(text, values)
    })

    expect(end).toBeInstanceOf(Error)
    expect(end).not.toBeInstanceOf(StoreError)
    expect(await scene.entries()).toEqual([])
    expect(await attempt(scene, insert)).toBe('done')
  })

  const HIDDEN = ['select 1; commit', 'select 1; rollback', 'select 1; commit; begin']

  test.each(HIDDEN)(
    'code that hides a commit (%s) is refused: one statement at a time',
    async (text) => {
      await using scene = await openScene(openPostgres)

      const end = await attempt(scene, async (tx, table) => {
        await insert(tx, table)
        await tx.query(text)
      })

      expect(end).toMatchObject({ message: expect.stringContaining('multiple commands') })
      expect(await scene.entries()).toEqual([])
      expect(await scene.inbox()).toEqual([])
    },
  )

  test.each(HIDDEN)(
    'code that hides a commit (%s) from an old driver is detected, and not recorded',
    async (text) => {
      await using scene = await openScene(openPostgres)
      const [row] = await scene.under.sql<{ schema: string }>('select current_schema() as schema')
      const pool = oldDriverPool()
      const store = postgresWorkflowStore({ source: { pool }, schema: row!.schema })

      const end = await attempt(scene, (tx) => tx.query(text).catch(() => {}), store)
      const open = await attempt(scene, (tx) => tx.query(text), store)
      await store.close()
      await pool.end()

      expect(end).toMatchObject({ name: 'StoreError', code: 'rejected' })
      expect((end as Error).message).toContain('the code ended its transaction itself')
      expect(open).toMatchObject({ message: expect.stringContaining('takes one statement') })
      expect(await scene.inbox()).toEqual([])
    },
  )

  test('code that continues after its end cannot write', async () => {
    await using scene = await openScene(openPostgres)
    let kept!: Queryable

    await attempt(scene, async (tx) => (kept = tx))

    await expect(kept.query(`insert into ${scene.table} values ('late')`)).rejects.toThrow(
      'transaction: tx.query() was called after the code returned or threw: nothing was sent',
    )
    expect(await scene.entries()).toEqual([])
  })
})

test('a savepoint lets code continue after an error', async () => {
  await using scene = await openScene(openPostgres)

  const end = await attempt(scene, async (tx, table) => {
    await tx.query('savepoint before')
    await tx.query('select 1/0').catch(() => tx.query('rollback to savepoint before'))
    await tx.query(`insert into ${table} values ($1)`, ['a'])
  })

  expect(end).toBe('done')
  expect(await scene.entries()).toEqual(['a'])
})

test('statements bring rows and counts as pg has them', async () => {
  await using scene = await openScene(openPostgres)

  await attempt(scene, async (tx, table) => {
    expect(await tx.query('select $1::int as n', [1])).toMatchObject({ rows: [{ n: 1 }] })
    expect(await tx.query(`insert into ${table} values ('a'), ('b')`)).toMatchObject({
      rowCount: 2,
    })
  })

  expect(await scene.entries()).toEqual(['a', 'b'])
})

test('a constraint error at the commit is thrown as it is', async () => {
  await using scene = await openScene(openPostgres)
  await scene.under.sql(
    `alter table ${scene.table} add constraint once unique (entry) deferrable initially deferred`,
  )

  const end = await attempt(scene, (tx, table) =>
    tx.query(`insert into ${table} values ('a'), ('a')`),
  )

  expect(end).toMatchObject({ code: '23505' })
  expect(end).not.toBeInstanceOf(StoreError)
  expect(await scene.inbox()).toEqual([])
})

describe('a connection that is lost', () => {
  test.each<[string, Code]>([
    ['throws what it got', killed],
    ['throws something else', (tx, table) => killed(tx, table).catch(() => fail('else'))],
    ['goes on', (tx, table) => killed(tx, table).catch(() => {})],
  ])('is not the fault of its code, which %s', async (_, code) => {
    await using scene = await openScene(openPostgres)

    const end = await attempt(scene, code)

    expect(end).toMatchObject({ name: 'StoreError', code: 'connection_lost' })
    expect(await attempt(scene, async () => {})).toBe('done')
  })

  test.each([
    ['before the commit', 'before', 'done', 1],
    ['after it', 'after', 'refused', 1],
  ] as const)('with the answer to the commit, %s', async (_, when, verdict, entries) => {
    await using scene = await openScene(openPostgres)
    await using losing = await losingStore(scene, when)

    const end = await attempt(scene, insert, losing.store)
    const again = await attempt(scene, insert, losing.store)

    expect(end).toMatchObject({ name: 'StoreError', code: 'connection_lost' })
    expect(again).toBe(verdict)
    expect(await scene.entries()).toHaveLength(entries)
    expect(await scene.inbox()).toHaveLength(1)
  })
})

test.each<[string, (tx: Queryable) => Promise<unknown>]>([
  ['says nothing more', async () => {}],
  ['goes on', (tx) => tx.query('select 1')],
])('code that sends nothing for too long, and then %s, is to blame', async (_, then) => {
  await using scene = await openScene(openPostgres)
  const [row] = await scene.under.sql<{ schema: string }>('select current_schema() as schema')
  const settings = { source: { url: postgresUrl() }, schema: row!.schema }
  const transactor = transactorOf(settings, 100)

  const code = async (tx: unknown): Promise<string> => {
    const { rows } = await (tx as Queryable).query('select pg_backend_pid() as pid')
    const { pid } = rows[0] as { pid: number }
    const isThere = 'select 1 from pg_stat_activity where pid = ?'
    while ((await scene.under.sql(isThere, pid)).length > 0);
    await then(tx as Queryable)
    return '1'
  }
  const end = await transactor.transact(scene.work(code)).catch((error: unknown) => error)
  await transactor.close()

  expect(end).not.toBeInstanceOf(StoreError)
  expect((end as Error).message).toMatch(
    /^transaction: its code sent no statement for more than 100 ms/,
  )
})

test('slow transactions leave connections for everything else', async () => {
  await using scene = await openScene(openPostgres)
  const { store } = scene.under
  const end = deferred()
  const slow = Array.from({ length: 6 }, (_, i) =>
    store.transact(scene.work(() => end.promise.then(() => '1'), { command: i + 1 })),
  )

  const all = Array.from({ length: 20 }, () => store.find([`order-${scene.iid}`]))
  expect(await Promise.all(all)).toHaveLength(20)
  end.resolve()

  expect(await Promise.all(slow)).toEqual(slow.map(() => 'done'))
})

test('closing the store does not wait for code that does not end', async () => {
  await using scene = await openScene(openPostgres)
  const store = await scene.under.another()
  const [running, end] = [deferred(), deferred()]
  const transaction = store.transact(
    scene.work(async () => {
      running.resolve()
      await end.promise
      return '1'
    }),
  )
  await running.promise

  await store.close()
  end.resolve()

  await expect(transaction.catch((error: unknown) => error)).resolves.toBeDefined()
})

function fail(message: string): never {
  throw new Error(message)
}

/** Another store on the same schema, which loses the connection around its first `commit`. */
async function losingStore({ under }: Scene, when: 'before' | 'after') {
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  const name = `losing_${randomBytes(4).toString('hex')}`
  const pool = new Pool({ connectionString: postgresUrl(), application_name: name })
  pool.on('error', () => {})
  let losses = 1
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>
  const losing = Object.assign(pool, {
    async connect() {
      const client = await connect()
      const query = client.query.bind(client) as (statement: unknown) => Promise<unknown>
      const through = async (statement: { text: string }): Promise<unknown> => {
        const isLost = statement.text === 'commit' && losses-- > 0
        if (!isLost || when === 'after') {
          const answer = await query(statement)
          if (!isLost) return answer
        }
        // As pg does it when the socket is gone.
        throw new Error('Connection terminated unexpectedly')
      }
      return Object.assign(Object.create(client) as PoolClient, {
        query: through,
        release: client.release.bind(client),
      })
    },
  })
  const store = postgresWorkflowStore({ source: { pool: losing }, schema: row!.schema })
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close()
      await pool.end()
    },
  }
}
