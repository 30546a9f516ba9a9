import { expect, test } from 'vitest'
import {
  activity,
  type ActivityContext,
  ActivityError,
  channel,
  workflow,
} from '../../src/index.ts'
import { deferred, describeOnStoresAtOnce, eventually, openSpace } from '../support/engine.ts'

// Its tick comes three times a second: whatever hint is lost, it is noticed soon.
const QUICK = { lease: '1s' } as const

describeOnStoresAtOnce('tasks', (kind) => {
  const shout = activity('shout', { tag: 'loud' }, (text: string, ctx) => [
    text.toUpperCase(),
    ctx.info.tag,
  ])
  const shouting = workflow('shouting', async (text: string, ctx) => ctx.run(shout, text))

  test('an activity with a tag runs in a runtime that serves it', async () => {
    await using space = await openSpace(kind)
    const quiet = await space.open(shouting, QUICK)
    const started = await quiet.start(shouting, 'hello', { id: 'a' })
    await expect(started.result({ timeout: 100 })).rejects.toThrow('took longer')
    expect((await started.info())?.waitingFor).toEqual([
      'activity "shout" (tag "loud"): attempt 1, waiting for a runtime; no live runtime serves tag "loud"',
    ])

    await space.open(shout, { tags: ['loud'], ...QUICK })

    expect(await started.result({ timeout: '8s' })).toEqual(['HELLO', 'loud'])
  })

  test('a tag that no live runtime serves is warned of, once', async () => {
    await using space = await openSpace(kind)
    const quiet = await space.open(shouting, QUICK)
    await quiet.start(shouting, 'hello', { id: 'a' })
    await quiet.start(shouting, 'hello', { id: 'b' })

    await eventually(() => space.log.at('warn').length > 0)

    expect(space.log.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: 'no live runtime serves this tag; the activity waits for a runtime that does',
        data: {
          instanceId: 'a',
          workflow: 'shouting',
          execution: 1,
          activity: 'shout',
          tag: 'loud',
        },
      },
    ])
  })

  test('a runtime without activities leaves them all to others, and keeps its steps', async () => {
    await using space = await openSpace(kind)
    const where = activity('where', (_: undefined, ctx) => ctx.info.instanceId)
    const both = workflow('both', async (_: undefined, ctx) => [
      await ctx.step('here', () => 'a step'),
      await ctx.run(where),
    ])
    const thinker = await space.open(both, { tags: 'none', ...QUICK })
    const started = await thinker.start(both, undefined, { id: 'b' })

    await space.open(where, QUICK)

    expect(await started.result({ timeout: '8s' })).toEqual(['a step', 'b'])
  })

  test('a contract runs where its code is', async () => {
    await using space = await openSpace(kind)
    const price = activity<string, number>('price')
    const asks = workflow('asks', async (item: string, ctx) => ctx.run(price, item))
    const asker = await space.open(asks, QUICK)
    const started = await asker.start(asks, 'tea', { id: 'c' })
    await space.open(
      price.implement(async (item) => item.length),
      QUICK,
    )

    expect(await started.result({ timeout: '8s' })).toBe(3)
    expect(space.log.lines.map(({ message }) => message)).toContain(
      'no code is registered here for this activity; it waits for a runtime that has it',
    )
  })

  test('a task is retried like any activity, and its error is the same', async () => {
    await using space = await openSpace(kind)
    const attempts: number[] = []
    const fails = activity(
      'fails',
      { tag: 'x', retry: { maxAttempts: 3, delay: 10, jitter: false } },
      (_: undefined, ctx) => {
        attempts.push(ctx.attempt)
        throw new RangeError('no')
      },
    )
    const tries = workflow('tries', async (_: undefined, ctx) => ctx.run(fails))
    const runtime = await space.open(tries, QUICK)
    await space.open(fails, { tags: { only: ['x'] }, ...QUICK })

    const error = await runtime.run(tries, undefined, { timeout: '8s' }).catch((e: unknown) => e)

    expect(error).toMatchObject({ cause: { name: 'ActivityError', attempts: 3 } })
    expect((error as { cause: unknown }).cause).toBeInstanceOf(ActivityError)
    expect(attempts).toEqual([1, 2, 3])
  })

  test('all activities of a session run in one runtime', async () => {
    await using space = await openSpace(kind)
    const ran: [string, string][] = []
    const note = activity<string, void>('note')
    const noteIn = (place: string) =>
      note.implement(async (_, ctx) => {
        ran.push([ctx.info.session!, place])
      })
    const sessions = workflow('sessions', async (_: undefined, ctx) => {
      for (let i = 0; i < 4; i++) {
        await ctx.all(['red', 'blue'].map((session) => ctx.run(note, 'x', { session })))
      }
    })
    const runtime = await space.open(sessions, { tags: 'none', ...QUICK })
    await space.open(noteIn('one'), { sessions: { max: 1 }, ...QUICK })
    await space.open(noteIn('two'), { sessions: { max: 1 }, ...QUICK })

    await runtime.run(sessions, undefined, { timeout: '10s' })

    expect(ran).toHaveLength(8)
    for (const session of ['red', 'blue']) {
      expect(new Set(ran.filter(([one]) => one === session).map(([, at]) => at)).size).toBe(1)
    }
  })

  test('no more run at once than a limit allows, over all runtimes', async () => {
    await using space = await openSpace(kind)
    let now = 0
    let most = 0
    const slow = activity(
      'slow',
      { limit: { concurrency: 2, key: (n: number) => `k${n % 2}` } },
      async (n: number) => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 20))
        now--
        return n
      },
    )
    const many = workflow('many', async (_: undefined, ctx) => {
      await ctx.map([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (n, inner) => inner.run(slow, n))
    })
    const runtime = await space.open(many, QUICK)
    await space.open(many, QUICK)

    await runtime.run(many, undefined, { timeout: '10s' })

    expect(most).toBeLessThanOrEqual(4)
    expect(most).toBeGreaterThan(1)
  })

  test('the next attempt of a task has its latest heartbeat, wherever that runs', async () => {
    await using space = await openSpace(kind)
    const told: unknown[] = []
    const beating = activity(
      'beating',
      { retry: { maxAttempts: 2, delay: 10 } },
      async (_: undefined, ctx: ActivityContext) => {
        told.push([ctx.attempt, ctx.lastHeartbeat])
        ctx.heartbeat({ done: 7 })
        if (ctx.attempt > 1) return 'done'
        await new Promise((resolve) => setTimeout(resolve, 100))
        throw new Error('again')
      },
    )
    const beats = workflow('beats', async (_: undefined, ctx) => ctx.run(beating))
    const runtime = await space.open(beats, QUICK)

    expect(await runtime.run(beats, undefined, { timeout: '8s' })).toBe('done')
    expect(told).toEqual([
      [1, undefined],
      [2, { done: 7 }],
    ])
  })

  test('an attempt without heartbeats for too long is stopped and retried', async () => {
    await using space = await openSpace(kind)
    const silent = activity(
      'silent',
      { heartbeatTimeout: 50, retry: { maxAttempts: 2, delay: 1 } },
      async (_: undefined, ctx) => {
        if (ctx.attempt === 2) return 'second'
        return new Promise<string>((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
        })
      },
    )
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.run(silent))
    const runtime = await space.open(waits, QUICK)

    expect(await runtime.run(waits, undefined, { timeout: '5s' })).toBe('second')
  })

  test('an activity that takes too long in all, or to begin, fails with a TimeoutError', async () => {
    await using space = await openSpace(kind)
    const never = activity('never', { tag: 'nobody' }, async () => 1)
    const limits = workflow('limits', async (_: undefined, ctx) => {
      const errors: unknown[] = []
      for (const options of [{ totalTimeout: 50 }, { startTimeout: 60 }]) {
        await ctx.run(never, undefined, options).catch((error: unknown) => errors.push(error))
      }
      return errors.map((error) => (error as Error).message)
    })
    const runtime = await space.open(limits, QUICK)

    expect(await runtime.run(limits, undefined, { timeout: '5s' })).toEqual([
      'activity "never" took longer than 50 ms',
      'activity "never" did not begin within 60 ms',
    ])
  })

  test('a cancelled task is stopped where it runs', async () => {
    await using space = await openSpace(kind)
    const enough = channel<string>('enough')
    const running = deferred()
    const stopped = deferred<unknown>()
    const endless = activity('endless', { tag: 'x' }, async (_: undefined, ctx) => {
      ctx.signal.addEventListener('abort', () => stopped.resolve(ctx.signal.reason))
      running.resolve()
      await stopped.promise
    })
    const calls = workflow('calls', async (_: undefined, ctx) => {
      const call = ctx.run(endless)
      await ctx.receive(enough)
      call.cancel('enough')
      return 'gone on'
    })
    const runtime = await space.open(calls, QUICK)
    await space.open(endless, { tags: { only: ['x'] }, ...QUICK })

    const started = await runtime.start(calls, undefined, { id: 'cancelled' })
    await running.promise
    await started.send(enough, 'now')

    expect(await started.result({ timeout: '8s' })).toBe('gone on')
    expect(await stopped.promise).toMatchObject({ name: 'CancelledError' })
  })

  test('a runtime is idle when nothing is due', async () => {
    await using space = await openSpace(kind)
    const nap = activity('nap', () => new Promise<void>((resolve) => setTimeout(resolve, 30)))
    const naps = workflow('naps', async (_: undefined, ctx) => {
      await ctx.run(nap)
      await ctx.run(nap)
      await ctx.sleep('1h')
    })
    const runtime = await space.open(naps, QUICK)
    const started = await runtime.start(naps, undefined, { id: 'n' })

    await runtime.idle({ timeout: '5s' })

    expect((await started.info())?.waitingFor[0]).toMatch(/^timer until/)
  })
})
