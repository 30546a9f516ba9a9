import { expect, test } from 'vitest'

import {
  batch,
  commitTurns,
  item,
  midCommit,
  midRenewal,
  midTick,
  openStore,
  startOwned,
  ticking,
  turn,
  waitForLock,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import type { Registered } from '../../../store/runtimes.ts'

const LEASE_MS = 1000

test('a runtime whose lease ended stays dead, and what it owned is free', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  await opened.setClock(10_000 + LEASE_MS)

  const tick = await opened.store.tick(ticking(young))
  const { claims } = await opened.store.claim({ ...young, limit: 10, hinted: [] })

  expect(tick).toMatchObject({ state: 'ok', claimable: true })
  expect(new Set(claims.map(({ iid }) => iid))).toEqual(new Set(iids))
  expect(claims.every(({ epoch, deaths }) => epoch === 2 && deaths === 1)).toBe(true)
  const late = batch(old, { turns: [item(iids[0]!, { turn: turn(2) })] })
  expect((await opened.store.commit(late)).state).toBe('dead')
  expect((await opened.store.tick(ticking(old))).state).toBe('dead')
  const claim = await opened.store.claim({ ...old, limit: 1, hinted: iids })
  expect(claim).toMatchObject({ state: 'dead', claims: [] })
})

test('a lease that expired while the server was down counts as no death', async () => {
  await using opened = await openStore()
  const { young, iids } = await twoRuntimes(opened)
  await opened.setClock(10_000 + LEASE_MS)
  await opened.database.query(
    `create or replace function ${opened.database.schema}.server_since()
      returns bigint language sql stable as 'select ${10_000 + LEASE_MS}::bigint'`,
  )

  await opened.store.tick(ticking(young))
  const { claims } = await opened.store.claim({ ...young, limit: 10, hinted: [] })

  expect(new Set(claims.map(({ iid }) => iid))).toEqual(new Set(iids))
  expect(claims.every(({ epoch, deaths }) => epoch === 2 && deaths === 0)).toBe(true)
})

test('a runtime in the middle of a commit is not marked as dead, and its commit succeeds', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  const committing = await midCommit(opened.database, old, iids[0]!)
  await opened.setClock(10_000 + LEASE_MS)

  const during = await opened.store.tick(ticking(young))
  await committing.query('commit')
  const after = await opened.store.tick(ticking(young))
  const { claims } = await opened.store.claim({ ...young, limit: 10, hinted: [] })

  expect(during).toMatchObject({ claimable: false })
  expect(after).toMatchObject({ claimable: true })
  expect(claims.find(({ iid }) => iid === iids[0])).toMatchObject({ turn: 2 })
})

test('a commit that comes while its runtime is being declared dead waits, and is refused', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  await opened.setClock(10_000 + LEASE_MS)
  // The taker, seen from the server: the death is written, and not yet committed.
  const taker = await midTick(opened.database, young)

  const stale = opened.store.commit(batch(old, { turns: [item(iids[0]!, { turn: turn(2) })] }))
  await waitForLock(opened.database, 'advisory')
  await taker.query('commit')

  expect((await stale).state).toBe('dead')
  const [loaded] = await opened.store.load([{ iid: iids[0]!, after: 0 }])
  expect(loaded!.history).toHaveLength(1)
})

test('a claim that comes while its runtime is being declared dead takes nothing', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  await opened.setClock(10_000 + LEASE_MS)
  const taker = await midTick(opened.database, young)

  const stale = opened.store.claim({ ...old, limit: 10, hinted: iids })
  await waitForLock(opened.database, 'advisory')
  await taker.query('commit')

  expect(await stale).toMatchObject({ state: 'dead', claims: [] })
  expect(await opened.store.owned(old.runtime)).toEqual([])
})

test('a lease renewed at the last moment saves the runtime', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  await opened.setClock(10_000 + LEASE_MS)
  // The renewal is written, and not yet committed: the taker passes it by.
  const renewing = await midRenewal(opened.database, old, LEASE_MS)

  // It marks no runtime as dead; a third one does not wait for a lock either.
  const tick = await opened.store.tick(ticking(young))
  await renewing.query('commit')

  expect(tick).toMatchObject({ state: 'ok', claimable: false })
  expect(await commitTurns(opened.store, old, [item(iids[0]!, { turn: turn(2) })])).toEqual([
    'done',
  ])
})

test('unregistering waits for a commit under way, and frees what that left', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  const committing = await midCommit(opened.database, old, iids[0]!)

  const leaving = opened.another().unregister(old.runtime)
  await waitForLock(opened.database, 'advisory')
  await committing.query('commit')
  await leaving
  const { claims } = await opened.store.claim({ ...young, limit: 10, hinted: [] })

  expect(claims).toHaveLength(iids.length)
  expect(claims.every(({ deaths }) => deaths === 0)).toBe(true)
  expect(claims.find(({ iid }) => iid === iids[0])).toMatchObject({ turn: 2 })
})

test('a sender does not wait for a transaction that has locked the instance', async () => {
  await using opened = await openStore()
  const { old, iids } = await twoRuntimes(opened)
  const [iid] = iids as [number]
  const holding = await opened.database.connect()
  await holding.query('begin')
  await holding.query('select * from runs where iid = $1 for update', [iid])

  await opened.store.send([{ iid, kind: 'completed', execution: 1, command: 1, payload: 'x' }])
  await holding.query('rollback')

  const tick = await opened.store.tick(ticking(old))
  expect(tick).toMatchObject({ mail: [iid] })
})

test('two concurrent claims share the instances, and neither waits', async () => {
  await using opened = await openStore()
  const { old, young, iids } = await twoRuntimes(opened)
  await commitTurns(
    opened.store,
    old,
    iids.map((iid) => item(iid, { next: { kind: 'release', wakeAt: 0 } })),
  )
  const first = await opened.database.connect()
  await first.query('begin')
  await first.query('select * from claim($1, $2, 1, $3)', [old.runtime, old.workflows, []])

  const { claims } = await opened.store.claim({ ...young, limit: 10, hinted: iids })
  await first.query('commit')

  expect(claims).toHaveLength(iids.length - 1)
})

test('a runtime number of one schema means nothing in another', async () => {
  await using one = await openStore()
  await using two = await openStore()
  const { runtime, server } = await one.runtime()
  await two.database.query(
    `insert into runtimes (runtime, state, lease_until, registered_at, info)
    values ($1, 1, 9e15, 0, '')`,
    [runtime],
  )
  const locking = await one.database.connect()
  await locking.query('begin')
  await locking.query('select pg_advisory_xact_lock(lock_space(), $1)', [runtime])

  const answer = await two.store.commit({ runtime, server, starts: [], turns: [] })
  await locking.query('rollback')

  expect(answer.state).toBe('ok')
})

/** An old runtime with three instances and a new one, at a clock that does not move. */
async function twoRuntimes(
  opened: TestStore,
): Promise<{ old: Registered; young: Registered; iids: number[] }> {
  await opened.setClock(10_000)
  const old = await opened.runtime(LEASE_MS)
  const iids = await startOwned(opened.store, old, 3)
  const young = await opened.runtime(LEASE_MS * 10)
  return { old, young, iids }
}
