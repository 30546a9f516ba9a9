import { setTimeout } from 'node:timers/promises'

import { Pool, type Client } from 'pg'
import { expect, test, vi } from 'vitest'

import { testSchema } from '../../../../test/support/postgres.ts'
import { forbidVacuum, scansOf } from '../../../../test/support/postgres-scans.ts'
import {
  midTick,
  openFreshStore,
  start,
  ticking,
  waitForLock,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import { UNSTARTED_KEPT_MS } from '../../../store/constants.ts'
import type { Post } from '../../../store/inbox.ts'
import type { Registered } from '../../../store/runtimes.ts'
import type { PgPool } from '../../connect/driver.ts'
import { postValues } from '../../wire/post-values.ts'
import { startsValue } from '../../wire/start-values.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

// The removal of messages for instances that were never started, against calls that send to such an
// instance or start it at the same time: in whatever order they commit, a message that was answered
// as sent is not removed with the old ones, and an instance that was answered as started exists.

vi.setConfig({ testTimeout: 60_000 })

const ID = 'order-1'
const MONDAY = 1_000_000_000_000
const A_WEEK_LATER = MONDAY + UNSTARTED_KEPT_MS + 1

test('a message under way keeps those before it from being removed', async () => {
  await using opened = await openFreshStore()
  const { expired, anew, runtime } = await expiredOne(opened)
  const sending = await midPost(opened, message(anew, 'late'))

  const during = await tick(opened, runtime)
  await sending.query('commit')
  const after = await tick(opened, runtime)

  expect([during, after]).toEqual([0, 0])
  expect(await payloadsOf(opened, expired)).toEqual(['early', 'late'])
})

test('without that lock, the message would be left where nothing reads it', async () => {
  await using opened = await openFreshStore()
  const { expired, anew, runtime } = await expiredOne(opened)
  await opened.database.query(
    `create or replace function keep_unstarted(p_iids bigint[], p_clock bigint) returns boolean
    language plpgsql volatile set search_path from current
    as 'begin return true; end'`,
  )
  const sending = await midPost(opened, message(anew, 'late'))

  await tick(opened, runtime)
  await sending.query('commit')

  expect(await opened.store.find([ID])).toEqual([undefined])
  expect(await payloadsOf(opened, expired)).toEqual(['late'])
})

test('a message that comes during the removal waits for it, and is the first again', async () => {
  await using opened = await openFreshStore()
  const { expired, anew, runtime } = await expiredOne(opened)
  const removing = await midTick(opened.database, runtime)

  const sending = waiting(opened, 'post', postValues([message(anew, 'late')]))
  await waitForLock(opened.database, 'transactionid')
  await removing.query('commit')

  expect(await sending).toMatchObject({ verdicts: 's', iids: [`${anew}`] })
  expect(await opened.store.look([expired, anew])).toMatchObject([
    undefined,
    { id: ID, status: 'unstarted', mail: 1 },
  ] as object)
  expect(await tick(opened, runtime)).toBe(0)
})

test('a message joins the others when the removal is rolled back', async () => {
  await using opened = await openFreshStore()
  const { expired, anew, runtime } = await expiredOne(opened)
  const removing = await midTick(opened.database, runtime)

  const sending = waiting(opened, 'post', postValues([message(anew, 'late')]))
  await waitForLock(opened.database, 'transactionid')
  await removing.query('rollback')

  expect(await sending).toMatchObject({ verdicts: 's', iids: [`${expired}`] })
  expect(await payloadsOf(opened, expired)).toEqual(['early', 'late'])
})

test.each(['the number that messages waited under', 'a number of its own'] as const)(
  'a start during the removal waits for it and proceeds, under %s',
  async (under) => {
    await using opened = await openFreshStore()
    const { expired, anew, runtime } = await expiredOne(opened)
    const removing = await midTick(opened.database, runtime)
    const iid = under === 'a number of its own' ? anew : expired

    const starting = waiting(opened, 'start_batch', [startsValue([startOf(runtime, iid)]), ''])
    await waitForLock(opened.database, 'transactionid')
    await removing.query('commit')

    expect(await starting).toMatchObject({ starts: 'd' })
    expect(await opened.store.find([ID])).toMatchObject([{ iid, status: 'scheduled', mail: 0 }])
    expect(await opened.store.history(iid, 1)).toHaveLength(1)
  },
)

test('a start between the steps of the removal proceeds as well', async () => {
  await using opened = await openFreshStore()
  const { expired, runtime } = await expiredOne(opened)
  const removing = await opened.database.connect()
  await removing.query('begin')
  await removing.query('select from instances where iid = $1 for update', [expired])

  const starting = waiting(opened, 'start_batch', [startsValue([startOf(runtime, expired)]), ''])
  await waitForLock(opened.database, 'transactionid')
  await removing.query('delete from inbox where iid = $1', [expired])
  await removing.query('delete from instances where iid = $1', [expired])
  await removing.query('commit')

  expect(await starting).toMatchObject({ starts: 'd' })
  expect(await opened.store.find([ID])).toMatchObject([{ iid: expired, status: 'scheduled' }])
})

test('an instance that is being started is left alone, and nothing waits', async () => {
  await using opened = await openFreshStore()
  const { expired, runtime } = await expiredOne(opened)
  const starting = await midCall(opened, 'start_batch', [
    startsValue([startOf(runtime, expired)]),
    '',
  ])

  const removed = await tick(opened, runtime)
  await starting.query('commit')

  expect(removed).toBe(0)
  expect(await payloadsOf(opened, expired)).toEqual(['early'])
  expect(await opened.store.find([ID])).toMatchObject([{ status: 'scheduled', mail: 1 }])
})

test('a start and other senders do not wait for a message under way', async () => {
  await using opened = await openFreshStore()
  const { expired, anew, runtime } = await expiredOne(opened)
  const sending = await midPost(opened, message(anew, 'slow'))

  const sent = await opened.store.post([message(anew, 'quick')])
  const started = await opened.store.start([startOf(runtime, expired)])
  await sending.query('commit')

  expect([sent, started]).toMatchObject([[{ verdict: 'sent', iid: expired }], ['done']])
  expect((await payloadsOf(opened, expired)).toSorted()).toEqual(['early', 'quick', 'slow'])
})

test('a start removes the record of an unstarted instance', async () => {
  await using opened = await openFreshStore()
  const { expired, runtime } = await expiredOne(opened)
  await opened.store.start([startOf(runtime, expired)])

  await tick(opened, runtime)

  expect(await opened.database.query('select iid from absences')).toEqual([])
  expect(await payloadsOf(opened, expired)).toEqual(['early'])
})

test('concurrent sends, starts and removals all get true answers', async () => {
  await using opened = await openFreshStore()
  const { store } = opened
  const other = opened.another()
  const runtime = await opened.runtime()
  const ids = Array.from({ length: 30 }, (_, i) => `order-${i + 1}`)
  const first = await store.reserve(3 * ids.length)
  await opened.setClock(MONDAY)
  await store.post(ids.map((id, i) => ({ ...message(first + i, 'early'), id })))
  await opened.setClock(A_WEEK_LATER)

  const [answers, verdicts] = await Promise.all([
    Promise.all(
      ids.map((id, i) => {
        const late = { ...message(first + ids.length + i, 'late'), id }
        return unlessLocked(async () => (await other.post([late]))[0]!)
      }),
    ),
    Promise.all(
      ids.map(async (id, i) => {
        const iid = i % 2 === 0 ? first + i : first + 2 * ids.length + i
        if (i % 3 !== 0) return { verdict: 'unstarted' }
        const started = { ...startOf(runtime, iid), id }
        return unlessLocked(async () => ({ verdict: (await store.start([started]))[0]! }))
      }),
    ),
    ...Array.from({ length: 4 }, () => store.tick(ticking(runtime))),
  ])

  const rows = await store.find(ids)
  const mails = await opened.database.query<{ iid: string; payload: string }>(
    'select iid, payload from inbox',
  )
  const lateOnes = mails.filter(({ payload }) => payload === 'late')
  const found = ids.map((_, i) => ({
    answer: answers[i],
    late: lateOnes.filter(({ iid }) => Number(iid) === rows[i]?.iid).length,
    status: rows[i]?.status,
  }))
  expect(found).toEqual(
    ids.map((_, i) => ({
      answer: expect.objectContaining({ verdict: 'sent', iid: rows[i]?.iid }) as unknown,
      late: 1,
      status: verdicts[i]!.verdict === 'done' ? 'scheduled' : 'unstarted',
    })),
  )
})

test('many are removed in several ticks, and recent ones are not read', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const store = postgresWorkflowStore({
    source: { pool: pool as unknown as PgPool },
    schema: database.schema,
  })
  await store.open()
  const tables = ['absences', 'instances', 'inbox']
  await forbidVacuum(database, tables)
  const runtime = await store.register({ leaseMs: 3_600_000, info: '', workflows: [] })
  // Plans are made while tables are empty, and kept.
  await store.tick(ticking(runtime))
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'unstarted-' || i, 0, 0, 0, 0, 0 from generate_series(1, 50000) as i`,
  )
  await database.query(
    `insert into absences (iid, at)
    select i, case when i <= 1200 then 0 else 9e14 end from generate_series(1, 50000) as i`,
  )
  await database.query(
    `insert into inbox (iid, kind, name, payload, at, parked)
    select i, 3, 'notes', 'x', 0, true from generate_series(1, 1200) as i`,
  )

  const scans = await scansOf(pool, database.schema, tables, () => store.tick(ticking(runtime)))
  const removed: number[] = []
  for (let i = 0; i < 4; i++) {
    const answer = await store.tick(ticking(runtime))
    if (answer.state === 'ok') removed.push(answer.undelivered.early)
  }
  await store.close()
  await pool.end()

  expect(removed).toEqual([500, 500, 200, 0])
  for (const [table, { seq, fetched }] of Object.entries(scans)) {
    expect({ table, seq }).toEqual({ table, seq: 0 })
    expect(fetched, `rows of ${table}`).toBeLessThanOrEqual(2_000)
  }
})

/**
 * An id that got a message a week ago; a number for a call that sends again; and a runtime that
 * ticks.
 */
async function expiredOne(
  opened: TestStore,
): Promise<{ expired: number; anew: number; runtime: Registered }> {
  const expired = await opened.store.reserve(2)
  await opened.setClock(MONDAY)
  const runtime = await opened.runtime()
  await opened.store.post([message(expired, 'early')])
  await opened.setClock(A_WEEK_LATER)
  return { expired, anew: expired + 1, runtime }
}

/** How many messages for unstarted instances a tick removes. */
async function tick({ store }: TestStore, runtime: Registered): Promise<number> {
  const answer = await store.tick(ticking(runtime))
  if (answer.state !== 'ok') throw new Error(`the tick was answered with ${answer.state}`)
  return answer.undelivered.early
}

function startOf(runtime: Registered, iid: number) {
  return start(runtime, iid, { id: ID, owned: false, wakeAt: 0 })
}

function message(iid: number, payload: string): Post {
  return {
    id: ID,
    kind: 'message',
    name: 'notes',
    payload,
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid,
  }
}

/** A post whose transaction has not ended yet. */
function midPost(opened: TestStore, post: Post): Promise<Client> {
  return midCall(opened, 'post', postValues([post]))
}

/** A call that waits for locks as long as it takes: the store would give up, and try again later. */
async function waiting(
  { database }: TestStore,
  procedure: string,
  values: readonly (string | number)[],
): Promise<unknown> {
  const client = await database.connect()
  const marks = values.map((_, i) => `$${i + 1}`).join(', ')
  // With the name of the schema, by which waitForLock() finds it.
  const text = `select * from "${database.schema}".${procedure}(${marks})`
  return (await client.query(text, [...values])).rows[0]
}

async function midCall(
  { database }: TestStore,
  procedure: string,
  values: readonly (string | number)[],
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  const marks = values.map((_, i) => `$${i + 1}`).join(', ')
  await client.query(`select * from ${procedure}(${marks})`, [...values])
  return client
}

async function payloadsOf({ database }: TestStore, iid: number): Promise<string[]> {
  const rows = await database.query<{ payload: string }>(
    'select payload from inbox where iid = $1 order by id',
    [iid],
  )
  return rows.map(({ payload }) => payload)
}

/** Tries again while another transaction has locked the id, as runtimes and clients do. */
async function unlessLocked<T extends { verdict: string }>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await attempt()
    if (answer.verdict !== 'locked') return answer
    await setTimeout(5)
  }
}
