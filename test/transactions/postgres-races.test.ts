import { describe, expect, test } from 'vitest'
import type { Transact } from '../../src/store/transactions.ts'
import { deferred } from '../support/engine.ts'
import { openPostgres } from '../support/store-under-test.ts'
import { openScene, type Scene } from './scene.ts'

// Two runtimes that run the code of one command at the same time, step by step.

const unreached: Transact['code'] = () => {
  throw new Error('the code was run')
}

describe('two at once', () => {
  test('the second waits for the first, and is refused when that is done', async () => {
    await using scene = await openScene(openPostgres)
    const { store } = scene.under
    const first = await begun(scene)

    const second = store.transact(scene.work(unreached))
    await waitsForFirst(scene)
    first.finish()

    expect(await Promise.all([first.verdict, second])).toEqual(['done', 'refused'])
    expect(await scene.entries()).toEqual(['first'])
  })

  test('the second runs when the first has failed', async () => {
    await using scene = await openScene(openPostgres)
    const { store } = scene.under
    const first = await begun(scene)

    const second = store.transact(scene.work(scene.adds('second')))
    await waitsForFirst(scene)
    first.fail(new Error('no'))

    await expect(first.verdict).rejects.toThrow('no')
    expect(await second).toBe('done')
    expect(await scene.entries()).toEqual(['second'])
  })
})

describe('a takeover', () => {
  test('while the code runs: the old owner is refused, and the new one runs it', async () => {
    await using scene = await openScene(openPostgres)
    const { store } = scene.under
    const first = await begun(scene)
    const { runtime, epoch } = await scene.takeOver()

    const second = store.transact(
      scene.work(scene.adds('second'), { runtime, by: { epoch, turn: 1 } }),
    )
    await waitsForFirst(scene)
    first.finish()

    expect(await Promise.all([first.verdict, second])).toEqual(['refused', 'done'])
    expect(await scene.entries()).toEqual(['second'])
    expect(await scene.inbox()).toMatchObject([{ payload: '"second"' }])
  })

  test.each([
    ['commit', 'refused', ['old']],
    ['rollback', 'done', ['new']],
  ] as const)(
    'between the judgement and a %s of the old owner: the code of the new one is %s',
    async (ending, verdict, entries) => {
      await using scene = await openScene(openPostgres)
      const { store } = scene.under
      const old = await judged(scene)
      const { runtime, epoch } = await scene.takeOver()

      const next = store.transact(
        scene.work(scene.adds('new'), { runtime, by: { epoch, turn: 1 } }),
      )
      await waitsForFirst(scene)
      await old(ending)

      expect(await next).toBe(verdict)
      expect(await scene.entries()).toEqual(entries)
      expect(await scene.inbox()).toHaveLength(1)
    },
  )
})

test('nothing waits for the transaction but another run of the same code', async () => {
  await using scene = await openScene(openPostgres)
  const { store } = scene.under
  const old = await judged(scene)

  // Each would hang if it waited.
  const tick = {
    leaseMs: 30_000,
    workflows: scene.owner.workflows,
    unknown: [],
    ownedTasks: [],
    idle: false,
  }
  await store.tick({ runtime: scene.owner.runtime, ...tick, tasks: null })
  await store.send([{ iid: scene.iid, kind: 'completed', execution: 1, command: 2, payload: '2' }])
  await store.load([{ iid: scene.iid, after: 0 }])
  await store.terminate([{ id: `order-${scene.iid}`, output: '"x"', events: 'ended' }])
  await old('commit')

  expect(await scene.entries()).toEqual(['old'])
})

/** A transaction whose code has written its entry, and waits for the test to say how to end. */
async function begun(scene: Scene) {
  const written = deferred()
  const end = deferred()
  const verdict = scene.under.store.transact(
    scene.work(async (tx) => {
      const payload = await scene.adds('first')(tx)
      written.resolve()
      await end.promise
      return payload
    }),
  )
  await written.promise
  return { verdict, finish: end.resolve, fail: end.reject }
}

/** A transaction that was found in order, and is frozen before its last word. */
async function judged({ under, owner, iid, table }: Scene) {
  const { Client } = await import('pg')
  const { postgresUrl } = await import('../support/postgres.ts')
  const client = new Client({ connectionString: postgresUrl() })
  await client.connect()
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  await client.query(`set search_path to "${row!.schema}"`)
  await client.query('begin')
  const begin = 'select begin_transaction($1, $2, 1, 1, 1, null, 60000) as xid'
  const { rows } = await client.query<{ xid: string }>(begin, [owner.runtime, iid])
  await client.query(`insert into ${table} values ('old')`)
  const finish = `select finish_transaction($1, $2, $3, 1, 1, 1, null, '"old"') as verdict`
  const finished = await client.query(finish, [rows[0]!.xid, owner.runtime, iid])
  expect(finished.rows).toEqual([{ verdict: 'd' }])
  return async (ending: 'commit' | 'rollback') => {
    await client.query(ending)
    await client.end()
  }
}

/** Waits until a session waits to run the same code. */
async function waitsForFirst({ under }: Scene): Promise<void> {
  const sql = `select 1 from pg_locks l join pg_stat_activity a using (pid)
    where not l.granted and l.locktype = 'advisory' and a.query like '%' || current_schema() || '%'`
  while ((await under.sql(sql)).length === 0);
}
