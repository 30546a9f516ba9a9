// Weak points of the system that the contract describes (its section 9.1), by their numbers: those
// that show when rows are damaged, or when the server reports errors.

import { describe, expect, test } from 'vitest'

import { channel, WorkflowError, workflow } from '../../src/index.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { item, midCommit, openStore, startOwned, turn } from '../support/postgres-store.ts'
import { eventually } from '../support/engine.ts'
import { connectTo, describeRace, engineOn, iidOf } from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'

const go = channel<string>('go')

const child = workflow('child', async (_: undefined, ctx) => {
  await ctx.step('first', () => 1)
  return ctx.receive(go)
})
const parent = workflow('parent', async (_: undefined, ctx) =>
  ctx.run(child, undefined, { id: 'c' }),
)

describeRace('a history that cannot be read', (open) => {
  test('is reported with its turn, and the parent waits visibly until the instance is resumed [gap_14]', async () => {
    await using under = await open()
    const client = connectTo(await under.another())
    const waits = (id: string, words: string) =>
      eventually(async () => (await client.get(id).info())?.waitingFor.includes(words))
    const first = await engineOn(await under.another(), [parent, child])
    await first.start(parent, undefined, { id: 'p' })
    await waits('c', 'message on channel "go"')
    await first.close({ drain: 0 })
    await under.corrupt(await iidOf(under, 'c'))
    await using second = await engineOn(await under.another(), [parent, child])

    await second.get('c').send(go, 'on')
    const info = await eventually(async () => {
      const now = await client.get('c').info()
      return now?.status === 'suspended' && now
    })

    expect(info.error!.message).toBe(
      'turn 2 of execution 1 cannot be read: ' +
        'history: unknown event "damaged"; was it written by a newer version?',
    )
    expect(await client.get('p').info()).toMatchObject({
      status: 'running',
      waitingFor: ['child "c" of workflow "child"'],
    })
    await second.get('c').terminate('beyond repair')
    const error = await second
      .get(parent, 'p')
      .result()
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WorkflowError)
    expect((error as Error).message).toContain('beyond repair')
    const turns = await under.store.history(await iidOf(under, 'c'), 1)
    expect(turns.map(({ turn: number, first: event }) => [number, event])).toEqual([
      [1, 1],
      [2, turns[1]!.first],
      [3, turns[1]!.first + turns[1]!.count],
    ])
  })
})

describeRace('executions that continued as new', (open) => {
  test('go by the time of their end, and the current one with its instance [gap_15]', async () => {
    await using under = await open()
    const loops = workflow(
      'loops',
      { retention: '1h' },
      async (page: number, ctx): Promise<string> =>
        page < 3 ? ctx.continueAsNew(page + 1) : ctx.receive(go),
    )
    await using runtime = await engineOn(under.store, loops)
    const instance = await runtime.start(loops, 1, { id: 'l' })
    const iid = await iidOf(under, 'l')
    await eventually(async () => (await instance.info())?.execution === 3)
    await under.advance(1_800_000)
    await under.store.removeExpired()
    const early = await under.rows(iid)
    await under.advance(5_400_000)
    await under.store.removeExpired()
    const current = await under.store.history(iid, 3)
    const late = await under.rows(iid)

    await instance.send(go, 'end')
    await instance.result()
    await under.advance(2 * 3_600_000)
    await under.store.removeExpired()

    expect(early.history).toBeGreaterThanOrEqual(3)
    expect(current.length).toBeGreaterThan(0)
    expect(late.history).toBe(current.length)
    expect(await under.rows(iid)).toMatchObject({ instances: 0, history: 0 })
  })
})

describeRace('a row of an inbox that cannot be read', (open) => {
  test.each(['of an unknown kind', 'with a payload that is none'] as const)(
    '%s suspends its instance, and no other [gap_16]',
    async (damage) => {
      await using under = await open()
      const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
      const client = connectTo(await under.another())
      const ids = ['a', 'b', 'c', 'd']
      for (const id of ids) {
        await client.start(waits, undefined, { id })
        await client.get(id).send(go, id)
      }
      await damageInbox(under, await iidOf(under, 'b'), damage)

      await using runtime = await engineOn(await under.another(), waits)
      const others = ['a', 'c', 'd'].map((id) => runtime.get(waits, id).result())

      expect(await Promise.all(others)).toEqual(['a', 'c', 'd'])
      const info = await eventually(async () => {
        const now = await client.get('b').info()
        return now?.status === 'suspended' && now
      })
      expect(info.error).toBeDefined()
    },
  )
})

describe('errors of the server', () => {
  test.each([
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['a lost connection', '08006'],
    ['a server that shuts down', '57P01'],
    ['a statement that took too long', '57014'],
    ['a full disk', '53100'],
  ])('%s (%s) is retried, and nothing runs twice [gap_16]', async (_, state) => {
    await using under = await openPostgres({ prefix: 'gap' })
    const ran: number[] = []
    const steps = workflow('steps', async (count: number, ctx) => {
      for (let i = 0; i < count; i++) await ctx.step(`step ${i}`, () => void ran.push(i))
      return 'done'
    })
    await using runtime = await engineOn(await under.another(), steps)
    const trouble = await failingInserts(under, state, 3)

    const result = await runtime.run(steps, 4)

    expect([result, ran]).toEqual(['done', [0, 1, 2, 3]])
    expect(await trouble.count()).toBeGreaterThan(3)
  })

  test('an unknown one ends no instance: it is suspended, and continues when resumed [gap_16]', async () => {
    await using under = await openPostgres({ prefix: 'gap' })
    const ran: number[] = []
    const steps = workflow('steps', async (_: undefined, ctx) => {
      await ctx.receive(go)
      for (let i = 0; i < 3; i++) await ctx.step(`step ${i}`, () => void ran.push(i))
      return 'done'
    })
    await using runtime = await engineOn(await under.another(), steps)
    const instance = await runtime.start(steps)
    const trouble = await failingInserts(under, 'XX000', 1)

    await instance.send(go, 'on')
    const info = await eventually(async () => {
      const now = await instance.info()
      return now?.status === 'suspended' && now
    })
    await instance.resume()

    expect(info.error).toMatchObject({ name: StoreError.name })
    expect(await instance.result()).toBe('done')
    expect(ran).toEqual([0, 1, 2])
    expect(await trouble.count()).toBeGreaterThan(1)
  })
})

describe('locks by hash', () => {
  test('of 32 bits keep no two transactions from each other [gap_16]', async () => {
    await using opened = await openStore()
    const { database } = opened
    const [pair] = await database.query<{ iids: string[] }>(
      `select array_agg(i) as iids
      from generate_series(1, 400000) as i
      group by hashtext(format('%s/%s/1/1', lock_space(), i))
      having count(*) > 1
      limit 1`,
    )
    const begin = `select xid from begin_transaction(1, $1, 1, 1, 1, null, 0)`
    const first = await database.connect()
    const second = await database.connect()
    await first.query('begin')
    await first.query(begin, [pair!.iids[0]])
    await second.query(`begin; set local lock_timeout to '10s'`)

    // It would fail if it waited.
    const { rowCount } = await second.query(begin, [pair!.iids[1]])

    expect(rowCount).toBe(1)
    await Promise.all([first.query('rollback'), second.query('rollback')])
  })

  test('there are none for instances: a commit under way holds up no other instance', async () => {
    await using opened = await openStore()
    const { store, database } = opened
    const [owner, other] = [await opened.runtime(), await opened.runtime()]
    const [held, ...iids] = await startOwned(store, owner, 200)
    const theirs = await startOwned(store, other, 200)
    const committing = await midCommit(database, owner, held!)

    const answers = [
      await store.commit({
        ...owner,
        starts: [],
        turns: iids.map((iid) => item(iid, { turn: turn(2) })),
      }),
      await store.commit({
        ...other,
        starts: [],
        turns: theirs.map((iid) => item(iid, { turn: turn(2) })),
      }),
    ]
    await committing.query('commit')

    for (const answer of answers) {
      expect(answer).toMatchObject({ state: 'ok' })
      expect(new Set(answer.state === 'ok' ? answer.turns : [])).toEqual(new Set(['done']))
    }
  })
})

/** Makes what waits for an instance unreadable. */
async function damageInbox(
  under: OpenedStore,
  iid: number,
  damage: 'of an unknown kind' | 'with a payload that is none',
): Promise<void> {
  const isPostgres = under.store.kind === 'postgres'
  if (damage === 'of an unknown kind') {
    await under.sql('update inbox set kind = ? where iid = ?', isPostgres ? 99 : 'telegram', iid)
    return
  }
  const kind = isPostgres ? 5 : 'terminate'
  await under.sql(`update inbox set kind = ?, payload = '{"half' where iid = ?`, kind, iid)
}

/** Has the first rows of history that are inserted from now on fail with such an error. */
async function failingInserts(
  under: OpenedStore,
  state: string,
  failures: number,
): Promise<{ count: () => Promise<number> }> {
  // What a sequence counts is not undone with the transaction.
  await under.sql('create sequence trouble')
  await under.sql(
    `create function trouble() returns trigger language plpgsql set search_path from current as $$
    begin
      if nextval('trouble') <= ${failures} then
        raise exception 'trouble' using errcode = '${state}';
      end if;
      return null;
    end
    $$`,
  )
  await under.sql(
    'create trigger trouble before insert on history for each statement execute function trouble()',
  )
  return {
    async count() {
      const [row] = await under.sql<{ last_value: string }>('select last_value from trouble')
      return Number(row!.last_value)
    },
  }
}
