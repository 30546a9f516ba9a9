import { expect, test } from 'vitest'
import { activity, channel, workflow } from '../../src/index.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import {
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  iidOf,
  mailOf,
  unparkingTicks,
} from '../support/race.ts'
import type { OpenedStore } from '../support/store-under-test.ts'
import { withMethods } from '../support/wrapped-store.ts'

// M4 of `docs/internals/races.md`: where a message is while no code waits for it.

const notes = channel<string>('notes')
const go = channel<string>('go')

describeRace('[M4] a message for a sleeping instance', (openStore) => {
  /** A workflow that never receives sleeps without an owner; a message arrives for it. */
  async function unwanted(parks: 'parked' | 'left as it is') {
    await using under = await openStore()
    const flow = workflow('flow', async (_: string, ctx) => ctx.sleep('1h'))
    const counting = countingStore(await under.another())
    const store =
      parks === 'parked' ? counting.store : unparkingTicks(neverParking(counting.store), under)
    await using runtime = await engineOn(store, flow, FREQUENT_TICKS)
    await runtime.start(flow, 'x', { id: 'asleep' })
    const iid = await iidOf(under, 'asleep')

    await connectTo(await under.another())
      .get('asleep')
      .send(notes, 'for later')
    await eventually(() => counting.claims() > 0)
    if (parks === 'parked') {
      await eventually(async () => (await mailOf(under, iid)).unparked === 0)
      await counting.furtherTicks(2)
    } else await eventually(() => counting.claims() > 2)
    return { claims: counting.claims(), mail: await mailOf(under, iid) }
  }

  test('[M4] it is claimed once, and the message is parked', async () => {
    expect(await unwanted('parked')).toEqual({ claims: 1, mail: { all: 1, unparked: 0 } })
  })

  test('[M4] left as it is, the message makes it claimed again and again', async () => {
    const { claims, mail } = await unwanted('left as it is')

    expect(claims).toBeGreaterThan(2)
    expect(mail.all).toBe(1)
  })
})

describeRace('[M4] a message that comes executions too early', (openStore) => {
  /** Sent to execution 1, received by execution 3, which another runtime takes over. */
  async function tooEarly(messages: 'stay' | 'go with their execution') {
    await using under = await openStore()
    const gate = deferred()
    const ready = activity('ready', () => gate.promise)
    const flow = workflow('flow', async (left: number, ctx): Promise<string> => {
      await ctx.receive(go)
      if (left > 0) return ctx.continueAsNew(left - 1)
      await ctx.run(ready)
      return (await ctx.receive(notes, { timeout: 1 })) ?? 'nothing came'
    })
    const first = await under.another()
    const store = messages === 'stay' ? first : losingMessages(first, under)
    const a = await engineOn(store, [flow, ready])
    const instance = await a.start(flow, 2, { id: 'early' })
    const iid = await iidOf(under, 'early')
    await instance.send(notes, 'early')
    await eventually(async () => (await mailOf(under, iid)).unparked === 0)
    for (const execution of [1, 2]) {
      await eventually(async () => (await instance.info())!.execution === execution)
      await instance.send(go, 'on')
    }
    await eventually(async () => (await instance.info())!.execution === 3)
    await instance.send(go, 'on')
    await eventually(async () => (await instance.info())!.waitingFor.join().includes('ready'))
    await a.close({ drain: 0 })

    gate.resolve()
    await using b = await engineOn(await under.another(), [flow, ready])
    return await b.get('early').result()
  }

  test('[M4] it waits in the inbox over two executions', async () => {
    expect(await tooEarly('stay')).toBe('early')
  })

  test('[M4] kept with the execution that it came to, it is lost with it', async () => {
    expect(await tooEarly('go with their execution')).toBe('nothing came')
  })
})

/** As the first draft had it: a row stays in the inbox as it came until it is taken. */
function neverParking(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    commit: (batch) =>
      inner.commit({
        ...batch,
        turns: batch.turns.map((item) => ({
          ...item,
          effects: item.effects && { ...item.effects, parked: [] },
        })),
      }),
  })
}

/**
 * A message that was not taken belongs to an execution, and continue-as-new does not carry it over.
 */
function losingMessages(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async commit(batch) {
      const answer = await inner.commit(batch)
      for (const { iid, next } of batch.turns) {
        if (next.kind !== 'continue') continue
        await under.sql(`delete from inbox where iid = ? and name = 'notes'`, iid)
      }
      return answer
    },
  })
}
