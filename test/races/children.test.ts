import { describe, expect, test } from 'vitest'
import { channel, ConflictError, workflow } from '../../src/index.ts'
import { startsValue } from '../../src/postgres/wire/start-values.ts'
import type { Iid } from '../../src/store/instances.ts'
import type { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { idOf, Scene } from '../../src/testing/contract/scene.ts'
import { deferred, eventually } from '../support/engine.ts'
import {
  connectionTo,
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  holdingStore,
  iidOf,
  mailOf,
  unparkingTicks,
} from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// O7 of `docs/internals/races.md`: parents and children that have moved on.

const go = channel<string>('go')

describeRace('[O7] a child that continues as new', (openStore) => {
  /** The parent waits for a child whose result comes from its third execution. */
  async function childContinues(link: 'in its row' | 'in its first event') {
    await using under = await openStore()
    const child = workflow('child', async (left: number, ctx): Promise<string> => {
      if (left > 0) return ctx.continueAsNew(left - 1)
      return `of execution ${ctx.info.execution}`
    })
    const parent = workflow('parent', async (_: string, ctx) => ctx.run(child, 2, { id: 'child' }))
    const ticking = countingStore(await under.another())
    const store = link === 'in its row' ? ticking.store : losingLinks(ticking.store, under)
    await using runtime = await engineOn(store, [parent, child], FREQUENT_TICKS)
    const instance = await runtime.start(parent, 'x', { id: 'parent' })

    await eventually(async () => (await runtime.get('child').info())?.status === 'completed')
    if (link === 'in its row') return await instance.result()
    await ticking.furtherTicks(2)
    return (await instance.info())!.status
  }

  test('[O7] its parent gets the result of its last execution', async () => {
    expect(await childContinues('in its row')).toBe('of execution 3')
  })

  test('[O7] where an execution has no link of its own, the parent waits forever', async () => {
    expect(await childContinues('in its first event')).toBe('running')
  })
})

describeRace('[O7] a parent that no longer waits for its child', (openStore) => {
  /** It gave up in the same execution, and sleeps without an owner when the child ends. */
  async function gaveUp(unwanted: 'dropped' | 'left as it is') {
    await using under = await openStore()
    const gate = deferred()
    const child = workflow('child', async (_: string, ctx) => ctx.step('gate', () => gate.promise))
    const parent = workflow('parent', async (_: string, ctx) => {
      const running = ctx.run(child, 'x', { id: 'child', onParentClose: 'abandon' })
      await ctx.receive(go)
      running.cancel()
      await ctx.sleep('1h')
    })
    const ticking = countingStore(await under.another())
    const leaving = unparkingTicks(takingOnlyWithEvents(ticking.store), under)
    const store = unwanted === 'dropped' ? ticking.store : leaving
    await using runtime = await engineOn(store, parent, FREQUENT_TICKS)
    const other = countingStore(await under.another()).store
    await using childs = await engineOn(other, child, FREQUENT_TICKS)
    const instance = await runtime.start(parent, 'x', { id: 'parent' })
    const iid = await iidOf(under, 'parent')
    await eventually(() => childs.get('child').info())
    await instance.send(go, 'on')
    await eventually(async () => (await ownerOf(under, iid)) === null)
    const before = ticking.claims()

    gate.resolve()
    await childs.get('child').result()
    await eventually(() => ticking.claims() > before)
    if (unwanted === 'dropped') {
      await eventually(async () => (await mailOf(under, iid)).all === 0)
      await ticking.furtherTicks(2)
    } else await eventually(() => ticking.claims() > before + 2)
    const claims = ticking.claims() - before
    return { claims, mail: (await mailOf(under, iid)).all, status: (await instance.info())!.status }
  }

  test('[O7] the result is taken out of its inbox, once', async () => {
    expect(await gaveUp('dropped')).toEqual({ claims: 1, mail: 0, status: 'running' })
  })

  test('[O7] taken only where code waits, it makes the parent claimed again and again', async () => {
    const { claims, mail } = await gaveUp('left as it is')

    expect(claims).toBeGreaterThan(2)
    expect(mail).toBe(1)
  })
})

describeRace('[O7] a child whose id is taken', (openStore) => {
  /** The id belongs to an instance of another workflow, which lives on. */
  async function takenId(refusals: 'answered' | 'swallowed') {
    await using under = await openStore()
    const stranger = workflow('stranger', async (_: string, ctx) => ctx.receive(go))
    const child = workflow('child', async () => 'of the child')
    const parent = workflow('parent', async (_: string, ctx) => {
      try {
        return await ctx.run(child, undefined, { id: 'taken' })
      } catch (error) {
        return error instanceof ConflictError ? `taken: ${error.instanceId}` : 'failed otherwise'
      }
    })
    const ticking = countingStore(await under.another())
    const swallowing = swallowingRefusals(ticking.store)
    const store = refusals === 'answered' ? ticking.store : swallowing.store
    await using runtime = await engineOn(store, [parent, child, stranger], FREQUENT_TICKS)
    await runtime.start(stranger, 'x', { id: 'taken' })
    const instance = await runtime.start(parent, 'x', { id: 'parent' })

    if (refusals === 'answered') {
      const settled = await instance.result()
      return { settled, taken: (await runtime.get('taken').info())!.workflow }
    }
    await swallowing.happened
    await ticking.furtherTicks(2)
    const [settled, taken] = [await instance.info(), await runtime.get('taken').info()]
    return { settled: settled!.status, taken: taken!.workflow }
  }

  test('[O7] the parent gets an answer, and the other one is left alone', async () => {
    expect(await takenId('answered')).toEqual({ settled: 'taken: taken', taken: 'stranger' })
  })

  test('[O7] without an answer, the parent waits forever', async () => {
    expect(await takenId('swallowed')).toEqual({ settled: 'running', taken: 'stranger' })
  })
})

describeRace('[O7] a child whose start arrives after its parent was terminated', (openStore) => {
  /** The start is on its way; the process that terminates the parent cannot see the child. */
  async function orphan(
    policy: 'cancel' | 'terminate' | 'abandon',
    closes: 'closed' | 'not closed',
  ) {
    await using under = await openStore()
    const child = workflow('child', async (_: string, ctx) => ctx.receive(go))
    const parent = workflow('parent', async (_: string, ctx) =>
      ctx.run(child, 'x', { id: 'child', onParentClose: policy }),
    )
    const ticking = countingStore(await under.another())
    const inner = closes === 'closed' ? ticking.store : closingNoOrphans(ticking.store, under)
    const holding = holdingStore(inner, ({ starts }) => starts.some((start) => start.parent))
    await using runtime = await engineOn(holding.store, [parent, child], FREQUENT_TICKS)
    await runtime.start(parent, 'x', { id: 'parent' })
    await holding.onItsWay

    // A process whose call no runtime here learns of.
    await connectTo(await under.another())
      .get('parent')
      .terminate()
    holding.letGo()
    const infoOfChild = () => runtime.get('child').info()
    await eventually(infoOfChild)
    const isClosed = policy !== 'abandon' && closes === 'closed'
    if (isClosed) await eventually(async () => (await infoOfChild())!.status !== 'running')
    else await ticking.furtherTicks(2)

    const [parentInfo, childInfo] = await Promise.all(
      ['parent', 'child'].map((id) => runtime.get(id).info()),
    )
    return { parent: parentInfo!.status, child: childInfo!.status }
  }

  test('[O7] it is cancelled by the policy of its link', async () => {
    expect(await orphan('cancel', 'closed')).toEqual({ parent: 'terminated', child: 'cancelled' })
  })

  test('[O7] it is terminated by the policy of its link', async () => {
    expect(await orphan('terminate', 'closed')).toEqual({
      parent: 'terminated',
      child: 'terminated',
    })
  })

  test('[O7] it is left alone where its link says so', async () => {
    expect(await orphan('abandon', 'closed')).toEqual({ parent: 'terminated', child: 'running' })
  })

  test('[O7] where only children that exist are closed, it runs forever', async () => {
    expect(await orphan('cancel', 'not closed')).toEqual({ parent: 'terminated', child: 'running' })
  })
})

// On SQLite one of the two is over before the other begins.
describe('[O7] the start of a child and the end of its parent under way at once, on PostgreSQL', () => {
  for (const first of ['child', 'parent'] as const) {
    test(`[O7] the ${first} being first, the child is closed`, async () => {
      expect(await atOnce(first, 'ask')).toEqual(['cancel: "parent closed"'])
    })

    test(`[O7] the ${first} being first, a start that does not ask leaves an orphan`, async () => {
      expect(await atOnce(first, 'do not ask')).toEqual([])
    })
  }
})

/** What the child receives once both have committed, the `first` one before the other. */
async function atOnce(first: 'child' | 'parent', starts: 'ask' | 'do not ask') {
  await using under = await openPostgres({ prefix: 'race' })
  const scene = new Scene(under)
  const owner = await scene.runtime()
  const iid = await owner.ownOne()
  const [child] = await owner.reserve(1)
  const parent = { iid, id: idOf(iid), execution: 1, command: 1, onClose: 'cancel' } as const
  const item = owner.startItem(child!, { owned: false, wakeAt: 0, parent })
  if (starts === 'do not ask') {
    await under.sql(
      `create or replace function close_orphans(p_iids bigint[]) returns void
      language plpgsql volatile set search_path from current
      as 'begin end'`,
    )
  }
  await using side = await connectionTo(under)
  await side.query('begin')
  if (first === 'child') {
    await side.query('select * from start_batch($1, $2)', [startsValue([item]), ''])
  } else {
    await side.query(`select terminate($1, '"why"', 'ended', 1)`, [idOf(iid)])
  }

  const second = async (): Promise<readonly unknown[]> =>
    first === 'child'
      ? (await under.store.terminate([{ id: idOf(iid), output: '"why"', events: 'ended' }])).ended
      : under.store.start([item])
  const [answer] = await second().catch(({ code }: StoreError) => [code])
  await side.query('commit')
  // The one that finds the other under way does nothing, and is sent again.
  expect(answer === 'locked').toBe(starts === 'ask')
  if (starts === 'ask') await second()
  return await scene.waitingFor(child!)
}

async function ownerOf(under: OpenedStore, iid: Iid): Promise<number | null | undefined> {
  const [row] = await under.sql<{ owner: number | null }>(
    'select owner from runs where iid = ?',
    iid,
  )
  return row?.owner
}

/** As the first draft had it: the parent is named in the first event of the first execution. */
function losingLinks(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      for (const { iid, next } of batch.turns) {
        if (next.kind !== 'continue') continue
        await under.sql('update instances set parent_iid = null where iid = ?', iid)
      }
      return answer
    },
  })
}

/** A row of the inbox goes when the event that came of it is written. */
function takingOnlyWithEvents(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    commit: (batch) =>
      inner.commit({
        ...batch,
        turns: batch.turns.map((item) => (item.turn === null ? { ...item, taken: [] } : item)),
      }),
  })
}

/** A start under an id that is taken is ignored, as an insert is `on conflict do nothing`. */
function swallowingRefusals(inner: WorkflowStore) {
  const happened = deferred()
  const store = withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      if (answer.state !== 'ok' || !answer.starts.includes('exists')) return answer
      happened.resolve()
      return { ...answer, starts: answer.starts.map(() => 'done' as const) }
    },
  })
  return { store, happened: happened.promise }
}

/** An end closes the children that it sees, and a start does not check its parent. */
function closingNoOrphans(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      for (const { iid, parent } of batch.starts) {
        if (parent !== null) await under.sql('delete from inbox where iid = ?', iid)
      }
      return answer
    },
  })
}
