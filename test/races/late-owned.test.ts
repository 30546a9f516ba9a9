import { expect, test } from 'vitest'
import { activity, workflow } from '../../src/index.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { deferred } from '../support/engine.ts'
import { describeRace, engineOn, iidOf } from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'

describeRace('the answer to the question what is owned', (openStore) => {
  test('does not revive an instance that was released before it is handled', async () => {
    await using under = await openStore()
    const begun = deferred()
    const gate = deferred()
    const work = activity('work', async () => {
      begun.resolve()
      await gate.promise
    })
    const rests = workflow('rests', async (_: undefined, ctx) => {
      await ctx.run(work)
      await ctx.sleep('1h')
    })
    const quick = workflow('quick', async () => 'done')
    const asked = deferred()
    const late = deferred()
    const released = deferred()
    const loaded: number[] = []
    let isToBeLost = false
    const inner = await under.another()
    const store = withMethods(inner, {
      async claim(request) {
        const answer = await inner.claim(request)
        if (!isToBeLost || answer.claims.length === 0) return answer
        isToBeLost = false
        throw new StoreError('connection_lost', 'claim', 'the answer was lost')
      },
      // Asked at that moment: what was claimed is owned, and its owner has not got the answer.
      async owned(runtime) {
        const answer = await inner.owned(runtime)
        asked.resolve()
        await late.promise
        return answer
      },
      async commit(batch) {
        const answer = await inner.commit(batch)
        // When its sender has got the answer.
        if (batch.turns.some(({ next }) => next.kind === 'release')) {
          setImmediate(() => released.resolve())
        }
        return answer
      },
      async load(wanted) {
        loaded.push(...wanted.map(({ iid }) => iid))
        return inner.load(wanted)
      },
    })
    const runtime = await engineOn(store, [rests, quick])
    await runtime.start(rests, undefined, { id: 'rests' })
    await begun.promise
    isToBeLost = true
    const claimed = await runtime.start(quick, undefined, { id: 'quick', delay: 1 })
    await asked.promise

    gate.resolve()
    await released.promise
    late.resolve()
    expect(await claimed.result({ timeout: '10s' })).toBe('done')

    expect(loaded).toEqual([await iidOf(under, 'quick')])
    await runtime.close({ drain: 0 })
  })
})
