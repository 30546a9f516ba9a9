import { describe, expect, test } from 'vitest'
import { activity, CancelledError, channel, type Instance, workflow } from '../../src/index.ts'
import type { Delivery } from '../../src/store/inbox.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import {
  connectionTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  holdingStore,
  iidOf,
  mailOf,
} from '../support/race.ts'
import { type OpenedStore, openPostgres } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// O7 of `docs/internals/races.md`: what is in flight while one execution ends and the next begins.

const go = channel<string>('go')

/** Whether an item ends an execution. */
const continues = ({ turns }: Parameters<WorkflowStore['commit']>[0]): boolean =>
  turns.some(({ next }) => next.kind === 'continue')

describeRace('[O7] a cancellation during the commit of a continue-as-new', (openStore) => {
  /** It is read while the commit is on its way: by the code of an execution that is over. */
  async function cancelMeanwhile(addressed: 'to the instance' | 'to the execution') {
    await using under = await openStore()
    const flow = workflow('flow', async (left: number, ctx): Promise<string> => {
      await ctx.receive(go)
      return left > 0 ? ctx.continueAsNew(left - 1) : 'it went on'
    })
    const read = deferred()
    const ticking = countingStore(await under.another())
    const reading = withMethods(ticking.store, {
      async load(wanted) {
        const loaded = await ticking.store.load(wanted)
        if (loaded.some(({ inbox }) => inbox.some(({ kind }) => kind === 'cancel'))) read.resolve()
        return loaded
      },
    })
    const inner = addressed === 'to the instance' ? reading : cancellingExecutions(reading, under)
    const holding = holdingStore(inner, continues)
    await using runtime = await engineOn(holding.store, flow, FREQUENT_TICKS)
    const instance = await runtime.start(flow, 1, { id: 'going-on' })
    await instance.send(go, 'on')
    await holding.onItsWay

    await instance.cancel('enough')
    await read.promise
    holding.letGo()
    await eventually(async () => (await instance.info())!.execution === 2)
    if (addressed === 'to the execution') {
      await ticking.furtherTicks(2)
      await instance.send(go, 'on')
    }
    return await outcomeOf(instance)
  }

  test('[O7] it meets the next execution', async () => {
    expect(await cancelMeanwhile('to the instance')).toBeInstanceOf(CancelledError)
  })

  test('[O7] gone with the execution that it found, it is lost', async () => {
    expect(await cancelMeanwhile('to the execution')).toBe('it went on')
  })
})

describeRace('[O7] the result of a child for an execution that is over', (openStore) => {
  /** The child was command 1 of execution 1; command 1 of execution 2 is something else. */
  async function lateResult(
    when: 'before' | 'after',
    addressed: 'to the execution' | 'by command',
  ) {
    await using under = await openStore()
    const { parent, child, own, gates } = moving()
    const ticking = countingStore(await under.another())
    const a =
      addressed === 'to the execution' ? ticking.store : resultsByCommand(ticking.store, under)
    const holding = holdingStore(a, continues)
    await using runtime = await engineOn(holding.store, [parent, own], FREQUENT_TICKS)
    const other = countingStore(await under.another()).store
    const b = addressed === 'to the execution' ? other : resultsByCommand(other, under)
    await using childs = await engineOn(b, child, FREQUENT_TICKS)
    const instance = await runtime.start(parent, 1, { id: 'parent' })
    const iid = await iidOf(under, 'parent')
    await eventually(() => childs.get('child').info())
    await instance.send(go, 'on')
    await holding.onItsWay
    if (when === 'after') {
      holding.letGo()
      await eventually(async () => (await instance.info())!.execution === 2)
    }

    gates.child.resolve()
    await childs.get('child').result()
    holding.letGo()
    await eventually(async () => (await instance.info())!.execution === 2)
    await ticking.furtherTicks(2)
    const { unparked } = await mailOf(under, iid)
    // What is taken for its own result comes without it.
    if (addressed === 'by command') await instance.result()
    gates.own.resolve()
    return { result: await instance.result(), unparked }
  }

  for (const when of ['before', 'after'] as const) {
    test(`[O7] coming ${when} the end of that execution, it is dropped`, async () => {
      expect(await lateResult(when, 'to the execution')).toEqual({ result: 'own', unparked: 0 })
    })

    test(`[O7] coming ${when} it, without its execution, it is taken for another result`, async () => {
      expect(await lateResult(when, 'by command')).toMatchObject({ result: 'of the child' })
    })
  }
})

// On SQLite the end of a child and the continue-as-new of its parent come one after the other.
describe('[O7] a child that ends while its parent continues, on PostgreSQL', () => {
  test('[O7] the owner finds a result for an execution that is over, and drops it', async () => {
    expect(await endMeanwhile('dropped')).toMatchObject({ left: 0, result: 'own' })
  })

  test('[O7] merely ignored, it stays and wakes the owner forever', async () => {
    expect(await endMeanwhile('kept')).toEqual({ arrived: 1, left: 1, result: 'own' })
  })
})

/** The end of the child saw execution 1 and commits when execution 2 has begun. */
async function endMeanwhile(stale: 'dropped' | 'kept') {
  await using under = await openPostgres({ prefix: 'race' })
  const { parent, child, own, gates } = moving()
  const ticking = countingStore(await under.another())
  const store = stale === 'dropped' ? ticking.store : neverTaking(ticking.store)
  await using runtime = await engineOn(store, [parent, own], FREQUENT_TICKS)
  // Of another runtime, because a verb keeps the owner of what it changes from committing.
  const other = countingStore(await under.another()).store
  await using childs = await engineOn(other, child, FREQUENT_TICKS)
  const instance = await runtime.start(parent, 1, { id: 'parent' })
  const iid = await iidOf(under, 'parent')
  await eventually(async () => (await childs.get('child').info())?.waitingFor.length)
  await using ending = await connectionTo(under)
  await ending.query('begin')
  await ending.query(`select terminate('child', '"why"', 'ended', 1)`)

  await instance.send(go, 'on')
  await eventually(async () => (await instance.info())!.execution === 2)
  await ending.query('commit')
  const arrived = await mailOf(under, iid)
  if (stale === 'dropped') await eventually(async () => (await mailOf(under, iid)).all === 0)
  await ticking.furtherTicks(2)
  const left = await mailOf(under, iid)
  gates.own.resolve()
  gates.child.resolve()
  return { arrived: arrived.all, left: left.unparked, result: await instance.result() }
}

/** A parent that leaves its child behind and moves on; the child and execution 2 wait for gates. */
function moving() {
  const gates = { child: deferred(), own: deferred() }
  const own = activity('own', async () => {
    await gates.own.promise
    return 'own'
  })
  const child = workflow('child', async (_: string, ctx) => {
    await ctx.step('gate', () => gates.child.promise)
    return 'of the child'
  })
  const parent = workflow('parent', async (execution: number, ctx): Promise<string> => {
    if (execution === 2) return ctx.run(own)
    void ctx.run(child, 'x', { id: 'child', onParentClose: 'abandon' })
    await ctx.receive(go)
    return ctx.continueAsNew(2)
  })
  return { parent, child, own, gates }
}

/** What an instance ended with. */
async function outcomeOf(instance: Instance): Promise<unknown> {
  return instance.result().catch((error: unknown) => error)
}

/** As the first draft had it: what is in the inbox belongs to the execution that it came to. */
function cancellingExecutions(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async load(wanted) {
      const loaded = await inner.load(wanted)
      // The execution that is over has no use for it.
      return loaded.map((one) => ({
        ...one,
        inbox: one.inbox.filter(({ kind }) => kind !== 'cancel'),
      }))
    },
    async commit(batch) {
      for (const { iid, next } of batch.turns) {
        if (next.kind === 'continue') await under.sql('delete from inbox where iid = ?', iid)
      }
      return inner.commit(batch)
    },
  })
}

/** A result is for a command of an instance, whichever execution that is in when it is read. */
function resultsByCommand(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  const kept: Delivery[] = []
  return withMethods(inner, {
    async tick(request) {
      // Not with the commit: the next execution has to be there to read them.
      if (kept.length > 0) await inner.send(kept.splice(0))
      return inner.tick(request)
    },
    async commit(batch) {
      const waiting = await inner.load(
        batch.turns.flatMap(({ iid, next }) =>
          next.kind === 'continue' ? [{ iid, after: 0 }] : [],
        ),
      )
      const answer = await inner.commit(batch)
      for (const { iid, execution, inbox } of waiting) {
        for (const { kind, command, payload } of inbox) {
          if (kind !== 'completed' && kind !== 'failed') continue
          kept.push({ iid, kind, execution: execution + 1, command, payload: payload! })
        }
      }
      const ended = batch.turns.flatMap(({ iid, next }) => (next.kind === 'end' ? [iid] : []))
      for (const row of await under.store.look(ended)) {
        if (!row?.parent) continue
        const { iid, command } = row.parent
        const [now] = await under.store.look([iid])
        const { execution } = now!
        await inner.send([{ iid, kind: 'completed', execution, command, payload: row.output! }])
      }
      return answer
    },
  })
}

/** Turns take nothing from the inbox. */
function neverTaking(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    commit: (batch) =>
      inner.commit({
        ...batch,
        turns: batch.turns.map((item) =>
          item.next.kind === 'keep' ? { ...item, taken: [] } : item,
        ),
      }),
  })
}
