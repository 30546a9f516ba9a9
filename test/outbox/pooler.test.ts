import { Client } from 'pg'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { outbox, topic } from '../../src/outbox/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { ownServer } from '../trouble/own-server.ts'
import { hasPooler, startPooler } from '../trouble/pooler.ts'
import { items, upTo } from './support.ts'

test.skipIf(!hasPooler)(
  'messages are enqueued and delivered through PgBouncer in transaction mode (where it is installed)',
  { timeout: 60_000 },
  async () => {
    await using server = await ownServer()
    await using pooler = await startPooler(server.url)
    await using client = connect(postgres({ url: pooler.url, schema: 'pooled' }), {
      log: silentLog,
    })
    await using box = outbox(client)
    await server.query('create table public.effects (n integer not null)')
    const [leased, booked] = [
      topic<number>('leased', { partitions: 2 }),
      topic<number>('booked', { partitions: 2 }),
    ]
    const seen: number[] = []
    box.handle(leased, async ({ payload }) => void seen.push(payload))
    box.handleTransactional(booked, async ({ payload }, { tx }) => {
      await tx.query('insert into public.effects values ($1)', [payload])
    })
    const sql = new Client({ connectionString: pooler.url })
    await sql.connect()
    await sql.query('begin')
    for (const of of [leased, booked]) await box.in(sql).enqueueMany(of, items(upTo(20)))
    await sql.query('commit')
    await sql.end()

    await box.drain({ timeout: '30s' })

    const rows = await server.query('select n from public.effects order by n')
    expect(seen.toSorted((a, b) => a - b)).toEqual(upTo(20))
    expect(rows.map(({ n }) => n)).toEqual(upTo(20))
  },
)
