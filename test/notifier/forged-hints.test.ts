import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CREDIT_MS, MAX_CREDIT } from '../../src/engine/runtime/discover/hint-gate.ts'
import { activity, channel, type Runtime, workflow } from '../../src/index.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { connectTo, engineOn } from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'
import { storeWithHints } from './listeners.ts'

// Any role that may connect to a database can notify there, whatever its other rights.

/** A role that may connect and nothing else; sends hints to every listener. */
async function forger(database: TestSchema): Promise<(hint: object) => Promise<void>> {
  const [row] = await database.query<{ name: string }>(`select hint_channel('all') as name`)
  const role = `forger_${randomUUID().slice(0, 8)}`
  const client = await database.connect()
  await client.query(`create role ${role}`)
  await client.query(`set session authorization ${role}`)
  await expect(client.query('select 1 from instances')).rejects.toThrow('instances')
  return async (hint) => {
    await client.query('select pg_notify($1, $2)', [row!.name, JSON.stringify(hint)])
  }
}

/** The calls of a store, counted by name. */
type Counts = Record<
  'claim' | 'load' | 'tick' | 'verify' | 'ownedTasks' | 'claimTasks' | 'look',
  number
>

async function counted(database: TestSchema): Promise<{ store: WorkflowStore; counts: Counts }> {
  const inner = await storeWithHints({ url: database.url }, database.schema)
  const counts = { claim: 0, load: 0, tick: 0, verify: 0, ownedTasks: 0, claimTasks: 0, look: 0 }
  const count =
    <Args extends unknown[], T>(name: keyof Counts, call: (...args: Args) => T) =>
    (...args: Args): T => {
      counts[name]++
      return call(...args)
    }
  const store = withMethods(inner, {
    hints: inner.hints,
    claim: count('claim', (request) => inner.claim(request)),
    load: count('load', (wanted) => inner.load(wanted)),
    tick: count('tick', (request) => inner.tick(request)),
    verify: count('verify', (runtime, copies) => inner.verify(runtime, copies)),
    ownedTasks: count('ownedTasks', (runtime) => inner.ownedTasks(runtime)),
    claimTasks: count('claimTasks', (request) => inner.claimTasks(request)),
    look: count('look', (iids) => inner.look(iids)),
  })
  return { store, counts }
}

const listens = (runtime: Runtime): Promise<true> =>
  eventually(() => runtime.health().hints.state === 'listening')

describe('a forged hint costs a look and nothing else', () => {
  test.each(['local', 'as a task'])('of an activity that runs %s', async (where) => {
    await using database = await testSchema('forged')
    const gate = deferred()
    const signals: AbortSignal[] = []
    const work = activity('work', { tag: 'far' }, async (_: undefined, ctx) => {
      signals.push(ctx.signal)
      await gate.promise
      return 'done'
    })
    const job = workflow('job', async (_: undefined, ctx) => ctx.run(work))
    const [owner, other] = [await counted(database), await counted(database)]
    const tags = where === 'local' ? ['far'] : []
    await using runtime = await engineOn(owner.store, [job, work], { tags })
    await using elsewhere = await engineOn(other.store, work, { tags: ['far'] })
    await Promise.all([runtime, elsewhere].map(listens))
    const instance = await runtime.start(job)
    await eventually(() => signals)
    const [row] = await database.query<{ iid: string }>('select iid from instances')
    const iid = Number(row!.iid)
    const forge = await forger(database)

    await forge({ kind: 'recalled', iids: [iid] })
    for (let command = 0; command < 3; command++) {
      await forge({ kind: 'dropped', tasks: [iid, 1, command] })
    }
    await eventually(() => owner.counts.verify + other.counts.ownedTasks > 0)
    await elsewhere.idle({ timeout: 100 }).catch(() => {})
    gate.resolve()

    expect(await instance.result()).toBe('done')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    expect(owner.counts.verify).toBe(1)
    expect(other.counts.ownedTasks).toBe(where === 'local' ? 0 : 1)
  })

  test('and many of them cost few looks', async () => {
    await using database = await testSchema('forged')
    const go = channel<string>('go')
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
    const { store, counts } = await counted(database)
    await using runtime = await engineOn(store, [waits])
    await listens(runtime)
    const { store: clientStore, counts: ofClient } = await counted(database)
    await using client = connectTo(clientStore)
    const instance = await runtime.start(waits)
    const result = client.get(waits, instance.id).result()
    await eventually(() => ofClient.look > 1)
    const [row] = await database.query<{ iid: string }>('select iid from instances')
    const iid = Number(row!.iid)
    const forge = await forger(database)
    const before = { runtime: { ...counts }, client: { ...ofClient } }
    const begunMs = performance.now()

    for (let i = 0; i < 400; i++) {
      await Promise.all([
        forge({ kind: 'work', iids: [iid, 1_000_000 + i], at: 0 }),
        forge({ kind: 'work', iids: [], at: 0 }),
        forge({ kind: 'work', iids: [], at: 1 + i }),
        forge({ kind: 'recalled', iids: [iid] }),
        forge({ kind: 'changed', iids: [iid] }),
        forge({ kind: 'changed', iids: [] }),
        forge({ kind: 'joined' }),
        forge({ kind: 'waiting', iids: [iid], to: 'x'.repeat(70) }),
        forge({ kind: 'work', iids: [1.5, -1], at: 0 }),
      ])
    }

    const tookMs = performance.now() - begunMs
    const asked = Object.entries(counts).reduce(
      (sum, [name, count]) => sum + count - before.runtime[name as keyof Counts],
      0,
    )
    // One look may take two or three calls: a claim without a result asks what is due next.
    const mostLooks = MAX_CREDIT + tookMs / CREDIT_MS
    expect(asked).toBeLessThan(3 * mostLooks)
    expect(ofClient.look - before.client.look).toBeLessThan(10 + (2 * tookMs) / 100)
    await instance.send(go, 'hello')
    expect(await result).toBe('hello')
  })
})
