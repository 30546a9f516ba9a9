// What needs a PostgreSQL of its own: settings, counts of its statements, and restarts.

import { Client as PgClient } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { type Outbox, outbox, topic } from '../../src/outbox/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { type PostgresServer, fastFolder, startPostgres } from '../support/postgres-server.ts'
import { items, recorder, upTo } from './support.ts'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres(['max_prepared_transactions=5'], fastFolder())
})

afterAll(() => server.remove())

/** Uses an outbox on the server, and a connection beside it. */
async function withOutbox<T>(use: (box: Outbox, sql: PgClient) => Promise<T>): Promise<T> {
  await using client = connect(postgres({ url: server.url, schema: 'outboxes' }), {
    log: silentLog,
  })
  const box = outbox(client)
  const sql = await connection()
  try {
    return await use(box, sql)
  } finally {
    await box.stop({ within: 500 })
    await sql.end()
  }
}

async function connection(): Promise<PgClient> {
  const sql = new PgClient({ connectionString: server.url })
  sql.on('error', () => {})
  await sql.connect()
  return sql
}

/** Enqueues and commits, on a connection of its own. */
async function send(
  box: Outbox,
  of: ReturnType<typeof topic<number>>,
  payloads: readonly number[],
) {
  const sql = await connection()
  await sql.query('begin')
  await box.in(sql).enqueueMany(of, items(payloads))
  await sql.query('commit')
  await sql.end()
}

/** How many transactions the server has ended, ours included. */
async function transactions(sql: PgClient): Promise<number> {
  await sql.query('select pg_stat_clear_snapshot()')
  const { rows } = await sql.query(
    'select sum(xact_commit + xact_rollback)::int as n from pg_stat_database',
  )
  return (rows[0] as { n: number }).n
}

/** Lets time pass that is measured: nothing tells that nothing happens. */
async function seconds(count: number): Promise<void> {
  const untilMs = performance.now() + count * 1_000
  await eventually(() => performance.now() > untilMs)
}

test('waiting for an open transaction does not poll constantly', async () => {
  await withOutbox(async (box, sql) => {
    const numbers = topic<number>('storm', { partitions: 1 })
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await box.start()
    await sql.query('begin')
    await box.in(sql).enqueue(numbers, 1)
    await send(box, numbers, [2])
    const admin = await connection()
    await seconds(1)
    const before = await transactions(admin)

    await seconds(1.5)
    const during = (await transactions(admin)) - before
    await sql.query('commit')
    await eventually(() => seen.length === 2)
    await admin.end()

    // Two statements about every second, a look now and then, those of the count, and what was counted
    // late; a poll without pause would send thousands.
    expect(during).toBeLessThan(100)
    expect(seen.map(({ payload }) => payload)).toEqual([1, 2])
  })
})

test('an outbox without messages sends almost no statements', async () => {
  await withOutbox(async (box) => {
    box.handle(topic<number>('idle'), async () => {})
    await box.start()
    const admin = await connection()
    await seconds(0.5)
    const before = await transactions(admin)

    await seconds(1)
    const during = (await transactions(admin)) - before
    await admin.end()

    expect(during).toBeLessThan(10)
  })
})

test('a prepared transaction keeps the order until it is committed', async () => {
  await withOutbox(async (box, sql) => {
    const numbers = topic<number>('prepared', { partitions: 1 })
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await box.start()
    await sql.query('begin')
    await box.in(sql, { notify: false }).enqueue(numbers, 1)
    await sql.query(`prepare transaction 'outbox test'`)
    await send(box, numbers, [2])
    for (let i = 0; i < 20; i++) await box.stats()
    const before = seen.length

    await sql.query(`commit prepared 'outbox test'`)
    await eventually(() => seen.length === 2)

    expect(before).toBe(0)
    expect(seen.map(({ payload }) => payload)).toEqual([1, 2])
  })
})

test('a connection that is ended in the middle of a transactional handler loses and repeats nothing', async () => {
  await withOutbox(async (box, sql) => {
    await sql.query('create table public.effects (n integer not null)')
    const numbers = topic<number>('terminated', { partitions: 1 })
    const pids: number[] = []
    const terminated = deferred()
    box.handleTransactional(numbers, async ({ payload }, { tx }) => {
      await tx.query('insert into public.effects values ($1)', [payload])
      if (payload !== 2 || pids.length > 0) return
      const { rows } = await tx.query('select pg_backend_pid() as pid')
      pids.push((rows[0] as { pid: number }).pid)
      await terminated.promise
      await tx.query('select 1')
    })
    await box.start()
    await send(box, numbers, upTo(3))
    await eventually(() => pids.length > 0)

    await sql.query('select pg_terminate_backend($1)', [pids[0]])
    terminated.resolve()
    await box.drain({ timeout: '15s' })

    const { rows } = await sql.query('select n from public.effects order by n')
    expect(rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect(await box.deadLetters.count({ topic: 'terminated' })).toBe(0)
  })
})

test(
  'a message whose statement crashes the server becomes a dead letter in the end',
  { timeout: 40_000 },
  async () => {
    await withOutbox(async (box) => {
      const numbers = topic<number>('crashing', { partitions: 1 })
      box.handleTransactional(
        numbers,
        async ({ payload }, { tx }) => {
          const { rows } = await tx.query('select pg_backend_pid() as pid')
          // As an error of an extension would: the server ends all sessions and recovers.
          if (payload === 1) process.kill((rows[0] as { pid: number }).pid, 'SIGKILL')
          await tx.query('select pg_sleep(0.1)')
        },
        { retry: { delay: 5 }, maxAttempts: 2 },
      )
      await send(box, numbers, [1])
      await box.start()

      const isDead = (): Promise<boolean> =>
        box.deadLetters.count({ topic: 'crashing' }).then(
          (count) => count === 1,
          () => false,
        )
      await eventually(isDead)

      await send(box, numbers, [2])
      await eventually(() => box.health().totals.delivered === 1)

      expect(box.health().totals).toMatchObject({ retried: 1, dead: 1 })
    })
  },
)

test(
  'a restart of the server while messages are delivered loses nothing, and repeats no effect',
  { timeout: 40_000 },
  async () => {
    await withOutbox(async (box, sql) => {
      await sql.query('create table public.booked (n integer not null)')
      const [leased, booked] = [topic<number>('leased'), topic<number>('booked')]
      const seen = new Map<number, number[]>()
      box.handle(
        leased,
        async ({ payload, partition }) => {
          seen.set(partition, [...(seen.get(partition) ?? []), payload])
        },
        { batchSize: 3 },
      )
      box.handleTransactional(
        booked,
        async ({ payload }, { tx }) => {
          await tx.query('insert into public.booked values ($1)', [payload])
        },
        { batchSize: 3 },
      )
      await send(box, leased, upTo(400))
      await send(box, booked, upTo(400))
      await box.start()
      await eventually(() => box.health().totals.delivered > 20)

      await server.stop('immediate')
      await server.start()
      await eventually(() =>
        box.drain({ timeout: '30s' }).then(
          () => true,
          () => false,
        ),
      )

      const again = await connection()
      const { rows } = await again.query('select n from public.booked order by n')
      await again.end()
      expect(rows.map((row) => (row as { n: number }).n)).toEqual(upTo(400))
      const all = new Set([...seen.values()].flat())
      expect(all.size).toBe(400)
      for (const order of seen.values()) {
        // Some may come twice; the first time of each is in order.
        const firsts = [...new Set(order)]
        expect(firsts).toEqual(firsts.toSorted((a, b) => a - b))
      }
    })
  },
)

test(
  'a stop ends while the server is away, and says so; the client closes',
  { timeout: 40_000 },
  async () => {
    const client = connect(postgres({ url: server.url, schema: 'outboxes' }), { log: silentLog })
    const box = outbox(client)
    box.handle(topic<number>('away'), async () => {})
    await box.start()
    await server.stop('immediate')

    const beganMs = performance.now()
    await expect(box.stop({ within: 1_000 })).rejects.toMatchObject({ name: 'StoreError' })
    await client.close()
    const tookMs = performance.now() - beganMs
    await server.start()

    expect(tookMs).toBeLessThan(15_000)
    expect(box.health().state).toBe('stopped')
  },
)

test(
  'a client closes its connections though its outbox cannot unregister',
  { timeout: 40_000 },
  async () => {
    const client = connect(postgres({ url: server.url, schema: 'outboxes' }), { log: silentLog })
    const box = outbox(client)
    box.handle(topic<number>('gone'), async () => {})
    await box.start()
    await server.stop('immediate')

    await client.close().catch(() => {})
    await server.start()

    // Whatever is asked now finds the store closed, not a connection that is opened again.
    await expect(box.stats()).rejects.toMatchObject({ name: 'StoreError', code: 'closed' })
  },
)
