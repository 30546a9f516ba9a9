// What `info()` says about an instance that does not move, as it is on each store.

import { hostname } from 'node:os'
import { expect, test } from 'vitest'

import { activity, type Instance, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const QUICK = { lease: 1_500 } as const
const work = activity<string, string>('work')
const asks = workflow('asks', async (tag: string, ctx) =>
  ctx.run(work, tag, {
    ...(tag !== '' && { tag }),
    retry: { maxAttempts: 3, delay: '1h', jitter: false },
  }),
)
const HERE = `${hostname()} (pid ${process.pid}, runtime N)`

/** What an instance waits for, without what differs from run to run. */
async function waits(instance: Instance): Promise<string> {
  const { waitingFor } = (await instance.info())!
  return waitingFor
    .join(' | ')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/runtime \d+/g, 'runtime N')
}

describeOnStores('info', (kind) => {
  test('names for an activity its runtime, since when, what failed, and when it is retried', async () => {
    await using space = await openSpace(kind)
    const begun = deferred()
    const fail = deferred()
    const code = work.implement(async () => {
      begun.resolve()
      await fail.promise
      throw new RangeError('no paper')
    })
    const runtime = await space.open([asks, code], QUICK)
    const client = space.connect()
    const started = await client.start(asks, '', { id: 'a' })
    await begun.promise

    const running = await waits(client.get('a'))
    const [, since] = /since (\S+) on/.exec((await started.info())!.waitingFor[0]!)!
    fail.resolve()
    await eventually(async () => (await started.info())!.waitingFor[0]?.includes('failed'))

    expect(running).toBe(`activity "work": attempt 1, running since TIME on ${HERE}`)
    expect(Math.abs(Date.parse(since!) - Date.now())).toBeLessThan(30_000)
    expect(await waits(client.get('a'))).toBe(
      'activity "work": attempt 2 at TIME; attempt 1 failed with RangeError: no paper',
    )
    await runtime.close()
  })

  test('names the same for a task, and exactly what no runtime serves', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(asks, QUICK)
    const tagged = await runtime.start(asks, 'gpu', { id: 't' })
    await eventually(async () => (await tagged.info())!.waitingFor[0]?.includes('waiting'))
    const nobodyServes = await waits(tagged)
    const begun = deferred()
    const fail = deferred()
    const code = work.implement(async () => {
      begun.resolve()
      await fail.promise
      throw new RangeError('no paper')
    })
    const other = activity('other', async () => 1)
    const useless = await space.open(other, { tags: ['gpu'], ...QUICK })
    const nobodyHas = await waits(tagged)
    await useless.close()
    await space.open(code, { tags: { only: ['gpu'] }, ...QUICK })
    await begun.promise
    const running = await waits(tagged)
    fail.resolve()
    await eventually(async () => (await tagged.info())!.waitingFor[0]?.includes('failed'))

    expect(nobodyServes).toBe(
      'activity "work" (tag "gpu"): attempt 1, waiting for a runtime; no live runtime serves tag "gpu"',
    )
    expect(nobodyHas).toBe(
      'activity "work" (tag "gpu"): attempt 1, waiting for a runtime; no live runtime is known to have its code',
    )
    expect(running).toBe(`activity "work" (tag "gpu"): attempt 1, running since TIME on ${HERE}`)
    expect(await waits(tagged)).toBe(
      'activity "work" (tag "gpu"): attempt 2 at TIME; attempt 1 failed with RangeError: no paper',
    )
  })

  test('says of an activity without a slot that it waits for one', async () => {
    await using space = await openSpace(kind)
    const done = deferred()
    const busy = activity('busy', async () => done.promise)
    const twice = workflow('twice', async (_: undefined, ctx) =>
      ctx.all([ctx.run(busy), ctx.run(busy)]),
    )
    const runtime = await space.open(twice, { concurrency: { activities: 1 } })
    const started = await runtime.start(twice, undefined)
    await eventually(async () => (await started.info())!.waitingFor.length === 2)

    expect(await waits(started)).toBe(
      `activity "busy": attempt 1, running since TIME on ${HERE} | ` +
        `activity "busy": attempt 1, waiting for a free slot on ${HERE}`,
    )
    done.resolve()
    await started.result()
  })

  test('shows an instance that no runtime has claimed as scheduled, and has the output at its end', async () => {
    await using space = await openSpace(kind)
    const hello = workflow('hello', async (name: string) => ({ hello: name }))
    const started = await space.connect().start(hello, 'Kim', { id: 'h' })

    const before = await started.info()
    await space.open(hello, QUICK)
    await started.result({ timeout: '10s' })

    expect(before).toMatchObject({
      status: 'scheduled',
      waitingFor: ['a runtime that registers workflow "hello" (no live runtime does)'],
    })
    expect(await started.info()).toMatchObject({
      status: 'completed',
      waitingFor: [],
      output: { hello: 'Kim' },
    })
  })
})
