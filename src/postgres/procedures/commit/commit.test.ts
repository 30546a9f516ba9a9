import { expect, test } from 'vitest'

import type { TestSchema } from '../../../../test/support/postgres.ts'
import {
  batch,
  commitTurns,
  item,
  openStore,
  start,
  startOwned,
  turn,
  waitForLock,
} from '../../../../test/support/postgres-store.ts'

/** Enough turns for a batch to be written in the way of large ones. */
const MANY = 20

test('items are judged one by one: a wrong epoch has no effect, and the others are done', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [a, b, c] = (await startOwned(store, runtime, 3)) as [number, number, number]
  await store.send([{ iid: b, kind: 'completed', execution: 1, command: 1, payload: 'kept' }])
  const [mail] = (await store.load([{ iid: b, after: 0 }]))[0]!.inbox

  const verdicts = await commitTurns(store, runtime, [
    item(a, { turn: turn(2) }),
    item(b, { epoch: 2, turn: turn(2), taken: [mail!.id], next: { kind: 'release', wakeAt: 5 } }),
    item(c, { turn: turn(2) }),
    item(999_999, { turn: turn(2) }),
  ])

  expect(verdicts).toEqual(['done', 'refused', 'done', 'refused'])
  expect(await turnsOf(database, a)).toEqual([1, 2])
  expect(await turnsOf(database, b)).toEqual([1])
  const [untouched] = await store.load([{ iid: b, after: 0 }])
  expect(untouched!.inbox).toEqual([mail])
  expect((await store.owned(runtime.runtime)).map(({ iid }) => iid)).toEqual([a, b, c])
})

test('an item of another owner is refused, even when it appends nothing', async () => {
  await using opened = await openStore()
  const { store } = opened
  const owner = await opened.runtime()
  const other = await opened.runtime()
  const [iid] = (await startOwned(store, owner, 1)) as [number]

  const verdicts = [
    ...(await commitTurns(store, other, [item(iid, { turn: turn(2) })])),
    ...(await commitTurns(store, other, [item(iid, { next: { kind: 'release', wakeAt: 1 } })])),
    ...(await commitTurns(store, other, [item(iid, { next: { kind: 'suspend', report: 'no' } })])),
  ]

  expect(verdicts).toEqual(['refused', 'refused', 'refused'])
  expect(await store.owned(owner.runtime)).toHaveLength(1)
})

test('a turn that another epoch has written is refused, even from the owner', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  await database.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values ($1, 1, 2, 7, 0, 2, 1, 'not ours')`,
    [iid],
  )

  const verdicts = await commitTurns(store, runtime, [
    item(iid, { turn: turn(2), next: { kind: 'release', wakeAt: null } }),
  ])

  expect(verdicts).toEqual(['refused'])
  expect(await store.owned(runtime.runtime)).toHaveLength(1)
})

test('a batch sent again is answered as before and does nothing more', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [kept, released, held, ended, rested] = (await startOwned(store, runtime, 5)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const born = await store.reserve(2)
  const whole = batch(runtime, {
    starts: [
      start(runtime, born),
      start(runtime, born + 1, {
        turn: turn(1, { events: 'all of it' }),
        end: { status: 'completed', output: '1' },
      }),
      start(runtime, born + 100, { id: `order-${kept}` }),
    ],
    turns: [
      item(kept, { turn: turn(2) }),
      item(released, { turn: turn(2), next: { kind: 'release', wakeAt: 99 } }),
      item(held, { next: { kind: 'suspend', report: 'broken' } }),
      item(ended, {
        turn: turn(2),
        next: { kind: 'end', end: { status: 'failed', output: 'oh' } },
      }),
      item(rested, { next: { kind: 'release', wakeAt: null } }),
    ],
  })
  const first = await store.commit(whole)
  const before = await everything(database)

  const second = await store.commit(whole)

  expect(first).toMatchObject({
    state: 'ok',
    starts: ['done', 'done', 'exists'],
    turns: ['done', 'done', 'done', 'done', 'done'],
  })
  expect(second).toEqual({ ...first, clock: second.clock })
  expect(await everything(database)).toEqual(before)
})

test('a release sent again after another runtime claimed the instance is refused', async () => {
  await using opened = await openStore()
  const { store } = opened
  const owner = await opened.runtime()
  const other = await opened.runtime()
  const [iid] = (await startOwned(store, owner, 1)) as [number]
  const release = item(iid, { next: { kind: 'release', wakeAt: 0 } })
  await commitTurns(store, owner, [release])
  const { claims } = await store.claim({ ...other, limit: 1, hinted: [] })

  expect(await commitTurns(store, owner, [release])).toEqual(['refused'])
  expect(await store.owned(other.runtime)).toEqual(claims)
})

test('a commit waits for the same batch that is still under way, and is answered as done', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  // The first sending, seen from the server: written, and not yet committed.
  const first = await database.connect()
  await first.query('begin')
  await first.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values ($1, 1, 2, 1, 0, 2, 1, 'event 2')`,
    [iid],
  )

  const again = commitTurns(store, runtime, [item(iid, { turn: turn(2) })])
  await waitForLock(database, 'transactionid')
  await first.query('commit')

  expect(await again).toEqual(['done'])
})

test('of many turns, one that another epoch has written is refused, and the others are done', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const iids = await startOwned(store, runtime, MANY)
  await writeTurn(database, [iids[4]!], 7)

  const verdicts = await commitTurns(
    store,
    runtime,
    iids.map((iid) => item(iid, { turn: turn(2) })),
  )

  expect(verdicts).toEqual(iids.map((_, i) => (i === 4 ? 'refused' : 'done')))
  expect(
    await database.query('select epoch, count(*)::int from history where turn = 2 group by epoch'),
  ).toEqual(
    expect.arrayContaining([
      { epoch: 1, count: MANY - 1 },
      { epoch: 7, count: 1 },
    ]),
  )
})

test('many turns wait for the same batch that is still under way, and are answered as done', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const iids = await startOwned(store, runtime, MANY)
  // The first sending, seen from the server: written, and not yet committed.
  const first = await database.connect()
  await first.query('begin')
  await writeTurn(first, iids, 1)

  const again = commitTurns(
    store,
    runtime,
    iids.map((iid) => item(iid, { turn: turn(2) })),
  )
  await waitForLock(database, 'transactionid')
  await first.query('commit')

  expect(await again).toEqual(iids.map(() => 'done'))
  expect(await turnsOf(database, iids[0]!)).toEqual([1, 2])
})

test('a new server is answered with verify, and nothing is written', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  const before = await everything(database)
  await database.query(
    `create or replace function server_identity() returns text language plpgsql as
    $$ begin return 'another'; end $$`,
  )

  const answer = await store.commit(batch(runtime, { turns: [item(iid, { turn: turn(2) })] }))

  expect(answer).toMatchObject({ state: 'verify', server: 'another' })
  expect(await everything(database)).toEqual(before)
})

test('a runtime that closed, or was never there, is dead', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]
  await store.unregister(runtime.runtime)
  const turns = [item(iid, { turn: turn(2) })]

  const closed = await store.commit(batch(runtime, { turns }))
  const unknown = await store.commit(batch({ ...runtime, runtime: 5 }, { turns }))

  expect(closed.state).toBe('dead')
  expect(unknown.state).toBe('dead')
  expect((await store.look([iid]))[0]!.wakeAt).not.toBeNull()
})

test('a number that was given out twice after a failover is refused, not taken for a resend', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [iid] = (await startOwned(store, runtime, 1)) as [number]

  const answer = await store.commit(
    batch(runtime, { starts: [start(runtime, iid, { id: 'someone-else' })] }),
  )

  expect(answer).toMatchObject({ starts: ['refused'] })
})

test('a transaction waits for the disk although its session says otherwise', async () => {
  await using opened = await openStore()
  const session = await opened.database.connect()
  await session.query('set synchronous_commit to off')
  await session.query('begin')

  await session.query('select be_durable()')
  const { rows } = await session.query(`select current_setting('synchronous_commit') as value`)
  await session.query('rollback')

  expect(rows).toEqual([{ value: 'on' }])
})

test('a claim waits for the disk although its session says otherwise', async () => {
  await using opened = await openStore()
  const { runtime, workflows } = await opened.runtime()
  const session = await opened.database.connect()
  await session.query('set synchronous_commit to off')
  await session.query('begin')

  await session.query('select * from claim($1, $2, 1, $3)', [runtime, workflows, []])
  const { rows } = await session.query(`select current_setting('synchronous_commit') as value`)
  await session.query('rollback')

  expect(rows).toEqual([{ value: 'on' }])
})

test('a transaction with an older snapshot than its locks is refused', async () => {
  await using opened = await openStore()
  const { database } = opened
  const runtime = await opened.runtime()
  const session = await database.connect()
  await session.query('set default_transaction_isolation to "repeatable read"')

  const claim = session.query('select * from claim($1, $2, 1, $3)', [runtime.runtime, [1], []])

  await expect(claim).rejects.toMatchObject({ code: 'HF001' })
})

test('texts come back as they were sent', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const iid = await store.reserve(1)
  const events = 'a\x1fb\x1ec {"\\u0000": "\\ud800"} \' " \\ ü 🦊 {NULL} ,'
  const id = 'Größe "x", {1} \\ \''

  await store.commit(
    batch(runtime, { starts: [start(runtime, iid, { id, turn: turn(1, { events }) })] }),
  )
  const [loaded] = await store.load([{ iid, after: 0 }])
  const [found] = await store.find([id])

  expect(loaded!.history[0]!.events).toBe(events)
  expect(found).toMatchObject({ iid, id })
})

test('texts may be empty', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const iid = await store.reserve(1)

  await store.commit(
    batch(runtime, {
      starts: [
        start(runtime, iid, {
          turn: turn(1, { events: '' }),
          end: { status: 'completed', output: '' },
        }),
      ],
    }),
  )

  expect((await store.load([{ iid, after: 0 }]))[0]!.history[0]!.events).toBe('')
  expect((await store.look([iid]))[0]).toMatchObject({ status: 'completed', output: '' })
})

/** Puts the second turn of instances into history. */
function writeTurn(
  database: { query(text: string, values: unknown[]): Promise<unknown> },
  iids: readonly number[],
  epoch: number,
): Promise<unknown> {
  return database.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    select iid, 1, 2, $2, 0, 2, 1, 'event 2' from unnest($1::bigint[]) as given (iid)`,
    [iids, epoch],
  )
}

async function turnsOf(database: TestSchema, iid: number): Promise<number[]> {
  const rows = await database.query<{ turn: number }>(
    'select turn from history where iid = $1 order by turn',
    [iid],
  )
  return rows.map((row) => row.turn)
}

/** All that commits write, for comparing. */
function everything(database: TestSchema): Promise<unknown[]> {
  const tables = ['instances', 'runs', 'history', 'inbox', 'posted', 'state', 'replies']
  return database.query(
    tables
      .map((table) => `select '${table}' as name, to_jsonb(t) as r from ${table} t`)
      .join(' union all ') + ' order by 1, 2',
  )
}
