import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'
import { QUICK, tasksOf } from './support.ts'

describe.concurrent('idle', () => {
  test('waits for activities and what follows from them', async () => {
    await using space = await openSpace('memory')
    const done: string[] = []
    const slow = activity('slow', async () => {
      await passTime(50)
      done.push('slow')
    })
    const follows = workflow('follows', async (_: undefined, ctx) => {
      await ctx.run(slow)
      await ctx.step('then', () => void done.push('then'))
      await ctx.sleep('1h')
    })
    const runtime = await space.open(follows)
    await runtime.start(follows)

    await runtime.idle({ timeout: '5s' })

    expect(done).toEqual(['slow', 'then'])
  })

  test('waits for tasks that are there for this runtime', async () => {
    await using space = await openSpace('memory')
    const gate = deferred()
    const away = activity('away', { session: 's' }, async () => gate.promise)
    const asks = workflow('asks', async (_: undefined, ctx) => ctx.run(away))
    const runtime = await space.open(asks)
    const started = await runtime.start(asks)

    await expect(runtime.idle({ timeout: 100 })).rejects.toThrow('took longer')
    gate.resolve()
    await runtime.idle({ timeout: '5s' })

    expect((await started.info())!.status).toBe('completed')
  })

  test('does not wait for instances that wait for messages, or for a tag of others', async () => {
    await using space = await openSpace('memory')
    const never = channel<string>('never')
    const other = activity('other', { tag: 'moon' }, async () => 1)
    const waits = workflow('waits', async (_: undefined, ctx) => {
      await ctx.race({ mail: ctx.receive(never), work: ctx.run(other) })
    })
    const runtime = await space.open(waits)
    const started = await runtime.start(waits)

    await runtime.idle({ timeout: '5s' })

    expect((await started.info())!.status).toBe('running')
  })

  test.each([
    ['a limit that others use up', { limit: { concurrency: 1 } }],
    ['a session that another runtime has', { session: 's' }],
  ])('does not wait for a task that is held back by %s', async (_, options) => {
    await using space = await openSpace('memory')
    const gate = deferred()
    const begun = deferred()
    const held = activity<undefined, void>('held')
    const code = activity('held', options, async () => {
      begun.resolve()
      await gate.promise
    })
    const holds = workflow('holds', async (_input: undefined, ctx) => {
      await ctx.all([ctx.run(code), ctx.run(code)])
    })
    const busy = await space.open([holds, code], { concurrency: { activities: 1 }, ...QUICK })
    const started = await busy.start(holds, undefined, { id: 'i' })
    await begun.promise
    await eventually(async () => (await tasksOf(space, 'i')).length === 2)
    const idle = await space.open(
      held.implement(async () => {}),
      QUICK,
    )

    await idle.idle({ timeout: '3s' })

    expect((await started.info())!.status).toBe('running')
    gate.resolve()
    await started.result({ timeout: '8s' })
  })

  test('can be ended by a signal', async () => {
    await using space = await openSpace('memory')
    const gate = deferred()
    const stuck = activity('stuck', async () => gate.promise)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.run(stuck))
    const runtime = await space.open(waits)
    await runtime.start(waits)
    const controller = new AbortController()
    const waiting = runtime.idle({ signal: controller.signal })

    controller.abort(new Error('enough'))

    await expect(waiting).rejects.toThrow('enough')
    gate.resolve()
  })
})
