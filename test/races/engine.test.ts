import { describe, expect, test } from 'vitest'
import { activity, type Runtime, TimeoutError, workflow } from '../../src/index.ts'
import type { TurnRow } from '../../src/store/commits.ts'
import { type Event, readEvents, writeEvents } from '../../src/store/history.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import { connectTo, describeRace, engineOn, isWhole } from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'
import { losingStore, withMethods } from '../support/wrapped-store.ts'

// F3, F4, F5 and C2 of `docs/internals/races.md` with the engine, on a store that loses
// answers or turns, and on one without the remedy.

// Long enough for anything that is not stuck.
const STUCK_MS = 2_000

describeRace('[F4] a commit whose answer was lost', (openStore) => {
  /** The answer to the commit of the first result is lost, and the batch sent again. */
  async function lostAnswer(recognise: boolean) {
    await using under = await openStore()
    const { three, calls } = threeSteps()
    const losing = losingStore(under.store)
    await using runtime = await engineOn(
      recognise ? losing : refusingResends(losing),
      three.workflow,
    )
    const instance = await three.start(runtime)
    const lost = losing.loseNext('commit')
    three.open(1)
    await lost

    three.open(2)
    three.open(3)
    const result = await resultWithin(instance, STUCK_MS)
    const [row] = await under.store.find([instance.id])
    const [loaded] = await under.store.load([{ iid: row!.iid, after: 0 }])
    return { result, calls, turns: loaded!.history.map(({ turn }) => turn) }
  }

  test('[F4] it is recognised when sent again, and everything runs once', async () => {
    const { result, calls, turns } = await lostAnswer(true)

    expect(result).toBe('done')
    expect(calls).toEqual([1, 2, 3])
    expect(isWhole(turns)).toBe(true)
  })

  test('[F4] taken for a refusal, the instance does not move although it was recorded', async () => {
    const { result, calls, turns } = await lostAnswer(false)

    expect(result).toBeInstanceOf(TimeoutError)
    expect([calls, turns]).toEqual([[1], [1, 2]])
  })
})

describeRace('[F4] a start whose answer was lost for longer than the lease', (openStore) => {
  /** A starts, gets no answer, and is frozen; B takes over and finishes; A comes back. */
  async function lostStart(refused: 'refused' | 'done') {
    await using under = await openStore()
    const ran: string[] = []
    const one = activity('one', async (who: string) => ran.push(who))
    const flow = workflow('flow', async (_: string, ctx) => {
      await ctx.run(one, 'once')
      await ctx.sleep('1h')
    })
    const losing = losingStore(await under.another())
    const seen = refused === 'refused' ? losing : startsAlwaysDone(losing)
    await using a = await engineOn(seen, [flow, one])
    const lost = losing.loseNext('commit')
    const started = a.start(flow, 'x', { id: 'lost' })
    await lost
    const thaw = losing.freeze()
    await under.sql('update runtimes set lease_until = ?', Date.now() - 1)
    await using b = await engineOn(under.store, [flow, one])
    await eventually(() => ran.length > 0)
    await eventually(async () => (await turnsOf(under, 'lost')).length >= 2)

    thaw()
    await started
    // Time for A to do what it should not.
    await new Promise((resolve) => setTimeout(resolve, 300))
    await b.close()
    return ran.length
  }

  test('[F4] the sender learns that the instance is another’s, and runs nothing of it', async () => {
    expect(await lostStart('refused')).toBe(1)
  })

  test('[F4] answered only that it is recorded, it runs again what was completed', async () => {
    expect(await lostStart('done')).toBe(2)
  })
})

/** Whether a runtime can learn what it owns. In the first draft it could not. */
type Owned = 'answered' | 'not answered'

describeRace('[F5] a claim whose answer was lost', (openStore) => {
  async function lostClaim(owned: Owned) {
    await using under = await openStore()
    const flow = workflow('flow', async (who: string) => `hello ${who}`)
    const losing = losingStore(await under.another())
    const counting = countingTicks(losing, owned)
    await using runtime = await engineOn(counting.store, flow, { lease: '1s' })
    const lost = losing.loseNext('claim')
    const client = connectTo(await under.another())
    await client.start(flow, 'Kim', { id: 'lost' })
    await lost

    const enough = counting.ticks() + 6
    return await eventually(async () => {
      const info = await runtime.get('lost').info()
      const isOver = info!.status === 'completed' || counting.ticks() > enough
      return isOver && { status: info!.status, owned: await ownedRows(under) }
    })
  }

  test('[F5] the runtime finds what it owns without knowing', async () => {
    expect(await lostClaim('answered')).toEqual({ status: 'completed', owned: 0 })
  })

  test('[F5] without asking, it is owned forever by a runtime that has not got the answer', async () => {
    expect(await lostClaim('not answered')).toEqual({ status: 'running', owned: 1 })
  })
})

describeRace('[F5] an instance that was dropped from memory while its row stayed', (openStore) => {
  async function droppedCopy(owned: Owned) {
    await using under = await openStore()
    const { three, calls } = threeSteps()
    const losing = losingStore(await under.another())
    const counting = countingTicks(refusingResends(losing), owned)
    await using runtime = await engineOn(counting.store, three.workflow, { lease: '1s' })
    const instance = await three.start(runtime)
    const lost = losing.loseNext('commit')
    for (const n of [1, 2, 3]) three.open(n)
    await lost

    const enough = counting.ticks() + 8
    return await eventually(async () => {
      const info = await instance.info()
      const isOver = info!.status === 'completed' || counting.ticks() > enough
      return isOver && { status: info!.status, calls, owned: await ownedRows(under) }
    })
  }

  test('[F5] the runtime asks what it owns, and it is read again and continues', async () => {
    expect(await droppedCopy('answered')).toEqual({
      status: 'completed',
      calls: [1, 2, 3],
      owned: 0,
    })
  })

  test('[F5] without asking, it does not move', async () => {
    expect(await droppedCopy('not answered')).toEqual({ status: 'running', calls: [1], owned: 1 })
  })
})

describe('[F3] a failover that lost the newest turns under a running engine, on PostgreSQL', () => {
  test('[F3] the cached instance is dropped, the lost step runs again, and the history has no gap', async () => {
    const { result, calls, turns } = await failover(true)

    expect(result).toBe('done')
    expect(calls).toEqual([1, 2, 3, 2, 3])
    expect(turns).toEqual([1, 2, 3, 4])
  })

  test('[F3] appended without comparing, the history has a hole', async () => {
    const { calls, turns } = await failover(false)

    expect(calls).toEqual([1, 2, 3])
    expect(turns).toEqual([1, 2, 4])
    expect(isWhole(turns)).toBe(false)
  })
})

describeRace('[C2] a fan-out whose second activity ends first', (openStore) => {
  /** The first runtime leaves when the second activity has completed; another one replays. */
  async function fanOut(schedules: 'eager' | 'lazy') {
    await using under = await openStore()
    const gate = deferred<string>()
    const slow = activity('slow', async () => gate.promise)
    const fast = activity('fast', async () => 'fast')
    const fan = workflow('fan', async (_: string, ctx) => {
      const both = await Promise.all([ctx.run(slow), ctx.run(fast)])
      return both.join(' and ')
    })
    const first = await under.another()
    const a = await engineOn(schedules === 'eager' ? first : lazySchedules(first), [
      fan,
      slow,
      fast,
    ])
    await a.start(fan, 'x', { id: 'fan' })
    await eventually(async () => (await eventsOf(under, 'fan')).includes('completed'))
    const recorded = await eventsOf(under, 'fan')
    await a.close({ drain: 0 })

    gate.resolve('slow')
    await using b = await engineOn(under.store, [fan, slow, fast])
    const status = await eventually(async () => {
      const info = await b.get('fan').info()
      return info?.status === 'running' ? undefined : info?.status
    })
    return { recorded, status }
  }

  test('[C2] both schedules are in history, in the order of the code, and replay continues', async () => {
    expect(await fanOut('eager')).toEqual({
      recorded: ['started', 'activity', 'activity', 'completed'],
      status: 'completed',
    })
  })

  test('[C2] written only with their completion, they cannot be replayed', async () => {
    expect(await fanOut('lazy')).toEqual({
      recorded: ['started', 'activity', 'completed'],
      status: 'suspended',
    })
  })
})

/** Two of three steps are recorded; the promoted server has only the first. */
async function failover(verify: boolean) {
  await using under = await openPostgres({ prefix: 'race' })
  const { three, calls } = threeSteps()
  const store = verify ? under.store : neverVerifying(under.store)
  await using runtime = await engineOn(store, three.workflow)
  const instance = await three.start(runtime)
  three.open(1)
  three.open(2)
  await eventually(async () => (await turnsOf(under, instance.id)).length === 3)
  await eventually(() => calls.length === 3)

  await under.sql('delete from history where turn > 2')
  await under.sql(
    `create or replace function server_identity() returns text
    language plpgsql volatile set search_path from current
    as 'begin return ''promoted''; end'`,
  )
  three.open(3)
  const result = await resultWithin(instance, 5 * STUCK_MS)
  return { result, calls, turns: await turnsOf(under, instance.id) }
}

/** A workflow of three steps, each of which waits until the test lets it go. */
function threeSteps() {
  const calls: number[] = []
  const gates = [1, 2, 3].map(() => deferred())
  const step = activity('step', async (n: number) => {
    calls.push(n)
    await gates[n - 1]!.promise
    return n
  })
  const flow = workflow('three', async (_: string, ctx) => {
    for (const n of [1, 2, 3]) await ctx.run(step, n)
    return 'done'
  })
  const three = {
    workflow: [flow, step],
    open: (n: number) => gates[n - 1]!.resolve(),
    async start(runtime: Runtime) {
      const instance = await runtime.start(flow, 'x')
      await eventually(() => calls.length === 1)
      return instance
    },
  }
  return { three, calls }
}

/** The result, or the `TimeoutError` when it does not come. */
async function resultWithin(
  instance: { result(wait: { timeout: number }): Promise<unknown> },
  timeout: number,
): Promise<unknown> {
  try {
    return await instance.result({ timeout })
  } catch (error) {
    return error
  }
}

async function turnsOf({ store }: OpenedStore, id: string): Promise<number[]> {
  const [row] = await store.find([id])
  if (row === undefined) return []
  const [loaded] = await store.load([{ iid: row.iid, after: 0 }])
  return loaded!.history.map(({ turn }) => turn)
}

async function eventsOf({ store }: OpenedStore, id: string): Promise<string[]> {
  const [row] = await store.find([id])
  if (row === undefined) return []
  const [loaded] = await store.load([{ iid: row.iid, after: 0 }])
  return loaded!.history.flatMap(({ events }) => readEvents(events)).map(({ type }) => type)
}

/** How many instances have an owner. */
async function ownedRows(under: OpenedStore): Promise<number> {
  return (await under.sql('select iid from runs where owner is not null')).length
}

/** Counts the ticks of a store; if requested, they do not say what a runtime owns. */
function countingTicks(inner: WorkflowStore, owned: Owned) {
  let ticks = 0
  const store = withMethods(inner, {
    async tick(request) {
      const answer = await inner.tick(request)
      ticks++
      return answer
    },
    ...(owned === 'not answered' && { owned: async () => [] }),
  })
  return { store, ticks: () => ticks }
}

/** As the first draft had it: a turn whose place is taken was written by another owner. */
function refusingResends(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const loaded = await inner.load(batch.turns.map(({ iid }) => ({ iid, after: 0 })))
      const before = new Map(loaded.map(({ iid, history }) => [iid, history.length]))
      const answer = await inner.commit(batch)
      if (answer.state !== 'ok') return answer
      const turns = answer.turns.map((verdict, i) => {
        const { iid, turn } = batch.turns[i]!
        return turn !== null && (before.get(iid) ?? 0) >= turn.turn ? 'refused' : verdict
      })
      return { ...answer, turns }
    },
  })
}

/** A start that is recorded is done, whichever runtime owns the instance now. */
function startsAlwaysDone(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      if (answer.state !== 'ok') return answer
      const starts = answer.starts.map((verdict) => (verdict === 'refused' ? 'done' : verdict))
      return { ...answer, starts }
    },
  })
}

/** Whichever server answers, it is taken for the one seen before. */
function neverVerifying(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      return answer.state === 'verify' ? inner.commit({ ...batch, server: answer.server }) : answer
    },
  })
}

/** Writes the schedule of an activity only together with its completion. */
function lazySchedules(inner: WorkflowStore): WorkflowStore {
  const unwritten = new Map<number, Event>()
  const lazily = (row: TurnRow): TurnRow => {
    const events = readEvents(row.events).flatMap((event): Event[] => {
      if (event.type === 'activity') {
        unwritten.set(event.command, event)
        return []
      }
      if (event.type !== 'completed') return [event]
      const schedule = unwritten.get(event.command)
      return schedule === undefined ? [event] : [schedule, event]
    })
    return { ...row, count: events.length, events: writeEvents(events) }
  }
  return withMethods(inner, {
    commit: (batch) =>
      inner.commit({
        ...batch,
        starts: batch.starts.map((item) => ({ ...item, turn: lazily(item.turn) })),
        turns: batch.turns.map((item) => ({ ...item, turn: item.turn && lazily(item.turn) })),
      }),
  })
}
