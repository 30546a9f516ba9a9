import { expect, test } from 'vitest'
import { activity, open, workflow } from '../../src/index.ts'

const calls: Record<string, () => unknown> = {
  'Date.now()': () => Date.now(),
  'Math.random()': () => Math.random(),
  'setTimeout()': () => setTimeout(() => {}, 0),
  'setInterval()': () => setInterval(() => {}, 1_000),
  'setImmediate()': () => setImmediate(() => {}),
  'fetch()': () => fetch('http://127.0.0.1:1/'),
}

const careless = workflow(
  'careless',
  async ({ name, late }: { name: string; late: boolean }, ctx) => {
    if (late) await ctx.sleep(1)
    calls[name]!()
  },
)

test.each(Object.keys(calls))(
  '%s inside a workflow fails it, and says what to use',
  async (name) => {
    await using runtime = await open('memory:', { register: careless })

    for (const late of [false, true]) {
      await expect(runtime.run(careless, { name, late })).rejects.toThrow(
        `${name} is not the same when the code is repeated; use ctx.`,
      )
    }
  },
)

test('activities, steps and everybody else use them as ever', async () => {
  const careful = activity('careful', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return Date.now() > 0 && Math.random() < 1
  })
  const fine = workflow('fine', async (_: undefined, ctx) => {
    const step = await ctx.step('step', () => Date.now() > 0)
    return [step, await ctx.run(careful)]
  })
  const now = Date.now
  const runtime = await open('memory:', { register: fine })

  expect(Date.now).not.toBe(now)
  expect(Date.now()).toBeGreaterThan(0)
  expect(await runtime.run(fine)).toEqual([true, true])
  await runtime.close()
  expect(Date.now).toBe(now)
})

test('in production nothing is guarded', async () => {
  const before = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  try {
    await using runtime = await open('memory:', { register: careless })

    expect(await runtime.run(careless, { name: 'Date.now()', late: false })).toBeUndefined()
  } finally {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  }
})
