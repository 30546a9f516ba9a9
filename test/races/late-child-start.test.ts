import { expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'
import {
  connectTo,
  countingStore,
  describeRace,
  engineOn,
  FREQUENT_TICKS,
  holdingStore,
} from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'

const go = channel<string>('go')

// Only the owner of the parent may start a child for it: another owner may have cancelled it.
describeRace('[O7] a child start of an owner that lost the parent', (openStore) => {
  test('[O7] a child whose command was dropped meanwhile does not run forever', async () => {
    await using under = await openStore()
    const child = workflow('child', async (_: string, ctx) => ctx.receive(go))
    const parent = workflow('parent', async (_: string, ctx) => {
      const running = ctx.run(child, 'x', { id: 'child' })
      await ctx.receive(go)
      running.cancel()
      await ctx.sleep('1h')
    })
    const ticking = countingStore(await under.another())
    const holding = holdingStore(ticking.store, ({ starts }) => starts.some((one) => one.parent))
    const mayClaim = deferred()
    // The old owner is alive, but the other one is quicker to claim the parent.
    const a = await engineOn(
      withMethods(holding.store, {
        async claim(request) {
          await mayClaim.promise
          return holding.store.claim(request)
        },
      }),
      [parent, child],
      FREQUENT_TICKS,
    )
    await a.start(parent, 'x', { id: 'parent' })
    await holding.onItsWay
    const instance = connectTo(await under.another()).get('parent')
    await instance.suspend()
    await instance.send(go, 'on')
    const others = countingStore(await under.another())
    const b = await engineOn(others.store, [parent, child], FREQUENT_TICKS)
    await instance.resume()
    await eventually(async () => (await eventsOf(instance)).some(({ type }) => type === 'dropped'))

    holding.letGo()
    mayClaim.resolve()
    await ticking.furtherTicks(3)
    await others.furtherTicks(3)

    const info = await b.get('child').info()
    await a.close({ drain: 0 })
    await b.close({ drain: 0 })
    expect(info?.status ?? 'never started').not.toBe('running')
  })
})
