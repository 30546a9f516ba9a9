import { expect, test } from 'vitest'

import {
  commitTurns,
  item,
  midCommit,
  openStore,
  start,
  startOwned,
  ticking,
  turn,
  waitForLock,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import type { Registered } from '../../../store/runtimes.ts'

// Verbs from outside against an owner in the middle of its work: whichever comes first is whole, and
// nothing of the owner follows.

const VERBS = {
  suspend: ({ store }: TestStore, ids: readonly string[]) => store.suspend(ids, '"why"'),
  terminate: ({ store }: TestStore, ids: readonly string[]) =>
    store
      .terminate(ids.map((id) => ({ id, output: '"why"', events: 'ended' })))
      .then(({ ended }) => ended),
}

const STATEMENTS = {
  suspend: `select suspended as answer from suspend($1, 1, '"why"')`,
  terminate: `select terminated as answer from terminate($1, '"why"', 'ended', 1)`,
}

const LEFT = {
  suspend: { status: 'suspended', report: '"why"', wakeAt: null },
  terminate: { status: 'terminated', output: '"why"', wakeAt: null },
}

/** Its verbs wait for a lock as long as a busy machine takes to release it; usually they wait for 30 ms. */
async function openPatientStore(): Promise<TestStore> {
  const opened = await openStore()
  await opened.database.query(
    `do $$
    declare
      v_verb regprocedure;
    begin
      for v_verb in
        select oid from pg_proc
        where pronamespace = current_schema()::regnamespace
          and proname in ('suspend', 'terminate')
      loop
        execute format('alter function %s set lock_timeout to ''30s''', v_verb);
      end loop;
    end
    $$`,
  )
  return opened
}

for (const verb of ['suspend', 'terminate'] as const) {
  test(`${verb} waits for a commit of the owner, whose turn counts and is its last`, async () => {
    await using opened = await openPatientStore()
    const { owner, iid, id } = await ownedOne(opened)
    const committing = await midCommit(opened.database, owner, iid)

    const answer = VERBS[verb](opened, [id])
    await waitForLock(opened.database, 'advisory')
    await committing.query('commit')

    expect(await answer).toEqual([true])
    expect(await eventsOf(opened, iid)).toEqual(
      verb === 'suspend' ? ['event 1', 'event 2'] : ['event 1', 'event 2', 'ended'],
    )
    expect(await opened.store.look([iid])).toMatchObject([LEFT[verb]])
    expect(await commitTurns(opened.store, owner, [item(iid, { turn: turn(3) })])).toEqual([
      'refused',
    ])
  })

  test(`a commit that comes during ${verb} waits, and is refused`, async () => {
    await using opened = await openStore()
    const { owner, iid, id } = await ownedOne(opened)
    const admin = await opened.database.connect()
    await admin.query('begin')
    const { rows } = await admin.query(STATEMENTS[verb], [id])

    const late = commitTurns(opened.store, owner, [item(iid, { turn: turn(2) })])
    await waitForLock(opened.database, 'advisory')
    await admin.query('commit')

    expect(rows).toEqual([{ answer: 't' }])
    expect(await late).toEqual(['refused'])
    expect(await eventsOf(opened, iid)).toEqual(
      verb === 'suspend' ? ['event 1'] : ['event 1', 'ended'],
    )
    expect(await opened.store.owned(owner.runtime)).toEqual([])
  })

  test(`${verb} finds that another runtime claimed meanwhile, and waits for that one too`, async () => {
    await using opened = await openPatientStore()
    const { store, database } = opened
    const { owner, iid, id } = await ownedOne(opened)
    await commitTurns(store, owner, [item(iid, { next: { kind: 'release', wakeAt: 0 } })])
    const taker = await opened.runtime()
    const claiming = await database.connect()
    await claiming.query('begin')
    await claiming.query('select * from claim($1, $2, 1, $3)', [
      taker.runtime,
      taker.workflows,
      [iid],
    ])
    // The taker's first commit is under way as soon as its claim is there.
    const committing = await midCommit(database, taker, iid, 2)

    const answer = VERBS[verb](opened, [id])
    await waitForLock(database, 'transactionid')
    await claiming.query('commit')
    await waitForLock(database, 'advisory')
    await committing.query('commit')

    expect(await answer).toEqual([true])
    expect((await eventsOf(opened, iid)).slice(0, 2)).toEqual(['event 1', 'event 2'])
    expect(await store.look([iid])).toMatchObject([LEFT[verb]])
    expect(await store.owned(taker.runtime)).toEqual([])
  })

  test(`two concurrent calls of ${verb} on instances of several owners do not block each other`, async () => {
    await using opened = await openStore()
    const owners = await Promise.all(Array.from({ length: 5 }, () => opened.runtime()))
    const ids: string[] = []
    for (const owner of owners) {
      for (const iid of await startOwned(opened.store, owner, 4)) ids.push(`order-${iid}`)
    }
    const other = { ...opened, store: opened.another() }

    const [one, two] = await Promise.all([
      VERBS[verb](opened, ids),
      VERBS[verb](other, ids.toReversed()),
    ])

    const unfinished = [...one, ...two].filter(Boolean).length
    expect(unfinished).toBe(verb === 'suspend' ? 2 * ids.length : ids.length)
  })

  test(`a sender does not wait for ${verb}`, async () => {
    await using opened = await openStore()
    const { iid, id } = await ownedOne(opened)
    const admin = await opened.database.connect()
    await admin.query('begin')
    await admin.query(STATEMENTS[verb], [id])

    const answers = await opened.store.post([
      {
        id,
        kind: 'message',
        name: 'notes',
        payload: '1',
        replyTo: '',
        dedupeKey: 'once',
        capacity: 10,
        iid: 0,
      },
    ])
    await admin.query('commit')

    expect(answers).toMatchObject([{ verdict: 'sent', iid }])
  })
}

test.each([
  ['ended goes with a later tick, and leaves its key', false, ['once']],
  ['was removed goes with a later tick', true, []],
])('a message that was sent while its instance %s', async (_, isRemoved, keys) => {
  await using opened = await openStore()
  const { store, database } = opened
  const { owner, iid, id } = await ownedOne(opened)
  await VERBS.terminate(opened, [id])
  if (isRemoved) await store.remove([id])
  // As the sender leaves it that looked before the end and wrote after it.
  await database.query(
    `insert into inbox (iid, kind, name, payload) values ($1, 3, 'notes', '1')`,
    [iid],
  )
  await database.query(`insert into posted (iid, key) values ($1, 'once')`, [iid])

  await store.tick(ticking(owner))

  expect(await database.query('select iid from inbox')).toEqual([])
  expect(await database.query('select key from posted')).toEqual(keys.map((key) => ({ key })))
})

test('a parent that ends in the same batch as its child gets no result', async () => {
  await using opened = await openStore()
  const { store, database } = opened
  const { owner, iid, id } = await ownedOne(opened)
  const child = await store.reserve(1)
  const parent = { iid, id, execution: 1, command: 1, onClose: 'cancel' } as const
  await store.commit({ ...owner, starts: [start(owner, child, { parent })], turns: [] })
  const end = { status: 'completed', output: '1' } as const

  const verdicts = await commitTurns(
    store,
    owner,
    [child, iid].map((one) => item(one, { turn: turn(2), next: { kind: 'end', end } })),
  )

  expect(verdicts).toEqual(['done', 'done'])
  expect(await database.query('select iid from inbox')).toEqual([])
})

async function ownedOne(
  opened: TestStore,
): Promise<{ owner: Registered; iid: number; id: string }> {
  const owner = await opened.runtime()
  const [iid] = (await startOwned(opened.store, owner, 1)) as [number]
  return { owner, iid, id: `order-${iid}` }
}

async function eventsOf({ store }: TestStore, iid: number): Promise<string[]> {
  return (await store.history(iid, 1)).map(({ events }) => events)
}
