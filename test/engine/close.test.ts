import { expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'
import { deferred } from '../support/engine.ts'
import { tempFile } from '../support/sqlite.ts'
import { memoryLog } from '../support/workers.ts'

test('closing lets running activities finish, and releases those that wait for a slot', async () => {
  using file = tempFile()
  const begun: string[] = []
  const gate = deferred()
  const task = activity('task', async (name: string) => {
    begun.push(name)
    if (begun.length === 1) await gate.promise
    return name
  })
  const job = workflow('job', async (name: string, ctx) => ctx.run(task, name))
  const options = { register: job, concurrency: { activities: 1 } }
  const runtime = await open(`file:${file.path}`, options)
  await runtime.start(job, 'first', { id: 'first' })
  await runtime.start(job, 'second', { id: 'second' })
  await expect.poll(() => begun).toEqual(['first'])

  const closed = runtime.close()
  gate.resolve(undefined)
  await closed

  expect(begun).toEqual(['first'])
  await using next = await open(`file:${file.path}`, options)
  expect(await next.get(job, 'first').result()).toBe('first')
  expect(await next.get(job, 'second').result()).toBe('second')
  expect(begun).toEqual(['first', 'second'])
})

test('an activity that ends after the close, for an instance that has ended, causes no error', async () => {
  const gate = deferred()
  const begun = deferred()
  const over = deferred()
  const slow = activity('slow', { totalTimeout: '50ms' }, async () => {
    begun.resolve(undefined)
    await gate.promise
    // After all that follows of its return.
    setImmediate(() => setImmediate(() => over.resolve(undefined)))
  })
  const job = workflow('job', async (_: undefined, ctx) => {
    await ctx.run(slow, undefined).catch(() => {})
    // Otherwise the runtime would release it.
    await ctx.step('wait', () => gate.promise)
  })
  const log = memoryLog()
  const runtime = await open('memory:', { register: job, log })
  const instance = await runtime.start(job, undefined, { id: 'j' })
  await begun.promise
  await expect.poll(() => log.at('warn')).toEqual(['activity failed; giving up'])
  await instance.terminate('enough')
  await runtime.close({ drain: 0 })

  gate.resolve(undefined)
  await over.promise

  expect(log.at('warn')).toEqual(['activity failed; giving up', 'workflow terminated'])
})
