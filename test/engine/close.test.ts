import { expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'
import { deferred } from '../support/engine.ts'
import { tempFile } from '../support/sqlite.ts'

test('closing lets what runs finish, and gives back what only waits for a slot', async () => {
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
