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
  runRowOf,
} from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'

// M2 of `docs/internals/races.md`: due scans skip what has an owner, so only the owner can
// find the message, and the hint to it is lost.

const notes = channel<string>('notes')

describeRace('[M2] a lost hint to a hot owner', (openStore) => {
  /** An activity keeps the instance with its owner; a client that cannot reach the owner sends. */
  async function lostHint(tickReports: 'mail' | 'no mail') {
    await using under = await openStore()
    const work = deferred()
    const busy = activity('busy', () => work.promise)
    const flow = workflow('flow', async (_: string, ctx) => {
      const running = ctx.run(busy)
      const note = await ctx.receive(notes)
      running.cancel()
      return note
    })
    const ticking = countingStore(await under.another())
    const owning = tickReports === 'mail' ? ticking.store : silentAboutMail(ticking.store)
    await using owner = await engineOn(owning, [flow, busy], FREQUENT_TICKS)
    await owner.start(flow, 'x', { id: 'hot' })
    const iid = await iidOf(under, 'hot')
    const before = await runRowOf(under, iid)
    // A runtime that looks for work, and may not take what is owned.
    const looking = countingStore(await under.another())
    await using other = await engineOn(looking.store, [flow, busy], FREQUENT_TICKS)

    await connectTo(await under.another())
      .get('hot')
      .send(notes, 'found')
    const enough = ticking.ticks() + 4
    const status = await eventually(async () => {
      const info = await other.get('hot').info()
      const isOver = tickReports === 'no mail' && ticking.ticks() > enough
      return (isOver || info!.status === 'completed') && info!.status
    })
    const after = await runRowOf(under, iid)
    const mail = await mailOf(under, iid)
    work.resolve()
    return { status, hasSameOwner: after?.epoch === before!.epoch && after.owner !== null, mail }
  }

  test('[M2] the next tick of the owner finds the message', async () => {
    expect(await lostHint('mail')).toEqual({
      status: 'completed',
      hasSameOwner: false,
      mail: { all: 0, unparked: 0 },
    })
  })

  test('[M2] if the tick does not report mail, no runtime finds it', async () => {
    expect(await lostHint('no mail')).toEqual({
      status: 'running',
      hasSameOwner: true,
      mail: { all: 1, unparked: 1 },
    })
  })
})

/** As the first draft had it: a tick renews the lease and looks for what is due and unowned. */
function silentAboutMail(inner: WorkflowStore): WorkflowStore {
  return withMethods(inner, {
    async tick(request) {
      const answer = await inner.tick(request)
      return answer.state === 'ok' ? { ...answer, mail: [] } : answer
    },
  })
}
