import { expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { deferred } from '../support/engine.ts'
import { describeRace, engineOn, holdingStore } from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'

const go = channel<string>('go')

describeRace('hints within the process', (openStore) => {
  test('a message that comes while the answer to the start is on its way is found at once', async () => {
    await using under = await openStore()
    const flow = workflow('flow', async (_: string, ctx) => ctx.receive(go))
    const inner = await under.another()
    const recorded = deferred()
    const answers = deferred()
    const store = withMethods(inner, {
      async commit(batch) {
        const answer = await inner.commit(batch)
        if (batch.starts.length > 0) {
          recorded.resolve()
          await answers.promise
        }
        return answer
      },
    })
    await using runtime = await engineOn(store, flow)
    const starting = runtime.start(flow, 'x', { id: 'new' })
    await recorded.promise
    await runtime.get('new').send(go, 'on')
    // Lets the reader of mail have its pass.
    await new Promise((resolve) => setTimeout(resolve, 50))
    answers.resolve()

    expect(await (await starting).result({ timeout: '2s' })).toBe('on')
  })

  test('a message that is read while the release is on its way is found at once', async () => {
    await using under = await openStore()
    const flow = workflow('flow', async (_: string, ctx) => ctx.receive(go))
    const inner = await under.another()
    const read = deferred()
    const reading = withMethods(inner, {
      async load(wanted) {
        const loaded = await inner.load(wanted)
        if (loaded.some(({ inbox }) => inbox.length > 0)) read.resolve()
        return loaded
      },
    })
    const holding = holdingStore(reading, ({ turns }) =>
      turns.some(({ next }) => next.kind === 'release'),
    )
    await using runtime = await engineOn(holding.store, flow)
    const instance = await runtime.start(flow, 'x', { id: 'resting' })
    // After five seconds without work.
    await holding.onItsWay
    await instance.send(go, 'on')
    await read.promise
    await new Promise((resolve) => setTimeout(resolve, 20))
    holding.letGo()

    expect(await instance.result({ timeout: '2s' })).toBe('on')
  })
})
