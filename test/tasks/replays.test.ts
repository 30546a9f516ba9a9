import { describe, expect, test } from 'vitest'

import { activity, type ActivityOptions, channel, workflow } from '../../src/index.ts'
import { eventually, openSpace } from '../support/engine.ts'
import { dataOf, eventsOf, QUICK, tasksOf } from './support.ts'

const away = activity<number, number>('away')
const go = channel<string>('go')
const calls = (options: ActivityOptions) =>
  workflow('calls', async (n: number, ctx) => {
    const value = await ctx.run(away, n, options)
    await ctx.receive(go)
    return value
  })

describe.concurrent('a history with a task', () => {
  test('replays the same in a runtime that would have run the activity itself', async () => {
    await using space = await openSpace('memory')
    let runs = 0
    const code = away.implement(async (n) => {
      runs++
      return n + 1
    })
    const thinker = await space.open(calls({}), { tags: 'none', ...QUICK })
    const doer = await space.open(code, QUICK)
    const started = await thinker.start(calls({}), 1, { id: 'i' })
    await eventually(async () => (await dataOf(started, 'receive')).length > 0)
    await thinker.close()
    await doer.close()

    const both = await space.open([calls({}), code])
    await both.get('i').send(go, 'on')

    expect(await both.get('i').result({ timeout: '8s' })).toBe(2)
    expect(runs).toBe(1)
  })

  test.each<[string, ActivityOptions]>([
    ['tag', { tag: 'eu' }],
    ['session', { tag: 'gpu', session: 's' }],
  ])('keeps its route although the code names another %s now', async (_, changed) => {
    await using space = await openSpace('memory')
    const before = calls({ tag: 'gpu' })
    const first = await space.open(before, QUICK)
    await first.start(before, 1, { id: 'i' })
    await eventually(async () => (await tasksOf(space, 'i')).length === 1)
    await first.close()

    const second = await space.open(calls(changed), QUICK)
    await space.open(
      away.implement(async (n) => n * 2),
      { tags: { only: ['gpu'] }, ...QUICK },
    )
    await second.get('i').send(go, 'on')

    expect(await second.get('i').result({ timeout: '8s' })).toBe(2)
  })
})

/** An instance that waits for a task that no runtime runs. */
async function openWaiting() {
  const space = await openSpace('memory')
  const runtime = await space.open(calls({ tag: 'gpu' }), QUICK)
  const started = await runtime.start(calls({ tag: 'gpu' }), 5, { id: 'i' })
  await eventually(async () => (await tasksOf(space, 'i')).length === 1)
  const runIt = () =>
    space.open(
      away.implement(async (n) => n * 2),
      { tags: { only: ['gpu'] }, ...QUICK },
    )
  return {
    space,
    runtime,
    started,
    runIt,
    [Symbol.asyncDispose]: () => space[Symbol.asyncDispose](),
  }
}

describe.concurrent('an open task', () => {
  test('is made again for an instance that is imported', async () => {
    await using waiting = await openWaiting()
    const { space, runtime, started, runIt } = waiting
    const imported = await runtime.import(await started.export(), { id: 'j' })
    await eventually(async () => (await tasksOf(space, 'j')).length === 1)

    await runIt()
    await Promise.all([started.send(go, 'on'), imported.send(go, 'on')])

    expect(await started.result({ timeout: '8s' })).toBe(10)
    expect(await imported.result({ timeout: '8s' })).toBe(10)
  })

  test('is made again for a fork', async () => {
    await using waiting = await openWaiting()
    const { space, started, runIt } = waiting
    const at = (await eventsOf(started)).at(-1)!.seq
    const fork = await started.fork({ at, id: 'k' })
    await eventually(async () => (await tasksOf(space, 'k')).length === 1)

    await runIt()
    await Promise.all([started.send(go, 'on'), fork.send(go, 'on')])

    expect(await fork.result({ timeout: '8s' })).toBe(10)
    expect(await started.result({ timeout: '8s' })).toBe(10)
  })

  test('survives a takeover of its instance, and runs once', async () => {
    await using waiting = await openWaiting()
    const { space, runtime, runIt } = waiting
    await runtime.close({ drain: 0 })
    const next = await space.open(calls({ tag: 'gpu' }), QUICK)
    expect(await tasksOf(space, 'i')).toHaveLength(1)

    await runIt()
    await next.get('i').send(go, 'on')

    expect(await next.get('i').result({ timeout: '8s' })).toBe(10)
  })
})
