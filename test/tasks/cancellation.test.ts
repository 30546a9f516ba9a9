import { describe, expect, test } from 'vitest'

import { activity, workflow } from '../../src/index.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'
import { QUICK, tasksOf } from './support.ts'

describe.concurrent('an activity that ignores its signal', () => {
  test.each([
    ['at its owner', {}],
    ['as a task', { session: 's' }],
  ])('%s does not keep its instance from ending', async (_, options) => {
    await using space = await openSpace('memory')
    const begun = deferred<AbortSignal>()
    const gate = deferred()
    const after: string[] = []
    const deaf = activity('deaf', options, async (_input: undefined, ctx) => {
      begun.resolve(ctx.signal)
      await gate.promise
      return 'too late'
    })
    const calls = workflow('calls', async (_input: undefined, ctx) => {
      try {
        return await ctx.run(deaf)
      } finally {
        await ctx.uncancellable((inner) => inner.step('clean up', () => void after.push('clean')))
      }
    })
    const runtime = await space.open(calls, QUICK)
    const started = await runtime.start(calls, undefined, { id: 'i' })
    const signal = await begun.promise

    await started.cancel('enough')
    await expect(started.result({ timeout: '8s' })).rejects.toThrow('enough')
    await eventually(() => signal.aborted)
    gate.resolve()
    await runtime.idle({ timeout: '5s' })

    expect((await started.info())!.status).toBe('cancelled')
    expect(after).toEqual(['clean'])
    expect(await tasksOf(space, 'i')).toEqual([])
  })
})

describe.concurrent('ctx.client in an activity', () => {
  const hello = workflow('hello', async (name: string) => `hello ${name}`)

  test.each([
    ['at its owner', {}],
    ['as a task', { session: 's' }],
  ])('%s starts other instances, and waits for them', async (_, options) => {
    await using space = await openSpace('memory')
    const greets = activity('greets', options, async (name: string, ctx) => {
      const started = await ctx.client.start(hello, name, { id: ctx.idempotencyKey })
      return [started.id, await started.result()] as const
    })
    const asks = workflow('asks', async (name: string, ctx) => ctx.run(greets, name))
    const runtime = await space.open([asks, hello], QUICK)

    const [id, greeting] = await runtime.run(asks, 'Kim', { timeout: '8s' })

    expect(greeting).toBe('hello Kim')
    expect(await runtime.get(hello, id).result()).toBe('hello Kim')
  })

  test('works in a runtime with activities only', async () => {
    await using space = await openSpace('memory')
    const greets = activity<string, string>('greets')
    const asks = workflow('asks', async (name: string, ctx) => ctx.run(greets, name))
    const runtime = await space.open([asks, hello], QUICK)
    await space.open(
      greets.implement((name, ctx) => ctx.client.run(hello, name, { timeout: '5s' })),
      QUICK,
    )

    expect(await runtime.run(asks, 'Ann', { timeout: '8s' })).toBe('hello Ann')
  })
})
