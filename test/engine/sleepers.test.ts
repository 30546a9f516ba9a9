import { expect, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'

const nap = workflow('nap', async (ms: number, ctx) => {
  await ctx.sleep(ms)
  return 'slept'
})

test('instances that only sleep take up no room: more than fit at once can sleep', async () => {
  await using runtime = await open('memory:', { register: nap, concurrency: { instances: 2 } })

  const sleeping = await Promise.all(
    Array.from({ length: 20 }, () => runtime.start(nap, 3_600_000)),
  )
  const short = await runtime.run(nap, 20)

  expect(short).toBe('slept')
  expect((await sleeping[0]!.info())?.waitingFor).toEqual([expect.stringMatching(/^timer until /)])
})

test.concurrent('a caller that waits for a sleeping instance learns of its end when it ends, not at the next poll', async () => {
  await using runtime = await open('memory:', { register: nap })
  const dueAt = Date.now() + 5_500

  await runtime.run(nap, 5_500)

  // The looks have grown to a second apart by then.
  expect(Date.now() - dueAt).toBeLessThan(500)
})

test.concurrent('a later timer is not lost when the earlier instance has ended meanwhile', async () => {
  await using runtime = await open('memory:', { register: nap })
  const first = await runtime.start(nap, 0, { delay: 600 })
  const second = await runtime.start(nap, 0, { delay: 1_200 })

  await first.terminate()

  // The tick would find it, after ten seconds.
  expect(await second.result({ timeout: '8s' })).toBe('slept')
})
