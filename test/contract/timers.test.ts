import { expect, test } from 'vitest'

import { activity, channel, workflow, type WorkflowContext } from '../../src/index.ts'
import { describeInPlaces, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { eventsOf, typesOf } from '../support/histories.ts'

const go = channel<string>('go')
const echo = activity('echo', (value: unknown) => value)

describeInPlaces('timers', (place) => {
  test('a timer fires [single_timer_fires]', async () => {
    const sleeps = workflow('t-sleeps', async (_: undefined, ctx) => {
      const before = ctx.now().getTime()
      await ctx.sleep(20)
      return ctx.now().getTime() - before
    })
    const runtime = await place.open(sleeps)

    expect(await runtime.run(sleeps)).toBeGreaterThanOrEqual(20)
  })

  test('timers fire in the order of their time [multiple_timers_fire_in_order]', async () => {
    const sleeps = workflow('t-order', async (_: undefined, ctx) => {
      const order: number[] = []
      await ctx.all(
        [30, 10, 20].map((ms) => async (inner) => {
          await inner.sleep(ms)
          order.push(ms)
        }),
      )
      return order
    })
    const runtime = await place.open(sleeps)

    expect(await runtime.run(sleeps)).toEqual([10, 20, 30])
  })

  test('a timer and an activity follow each other [timer_with_activity]', async () => {
    const both = workflow('t-both', async (_: undefined, ctx) => {
      await ctx.sleep(2)
      const value = await ctx.run(echo, 'x')
      await ctx.sleep(2)
      return value
    })
    const runtime = await place.open(both)

    expect(await runtime.run(both)).toBe('x')
  })

  test('a timer fires after a restart [timer_recovery_after_crash_before_fire]', async () => {
    const sleeps = workflow('t-recovers', async (_: undefined, ctx) => ctx.sleep(150))
    const first = await place.open(sleeps)
    const started = await first.start(sleeps, undefined, { id: 't-recovers' })
    await untilItWaitsFor(started, 'timer')
    await first.close({ drain: 0 })
    const second = await place.open(sleeps)
    await second.get('t-recovers').result()

    const events = await eventsOf(second.get('t-recovers'))
    const fired = events.find(({ type }) => type === 'fired')!
    expect(fired.at.getTime() - events[0]!.at.getTime()).toBeGreaterThanOrEqual(150)
  })

  test('a timer that fired does not fire again after a restart [timer_recovery_after_crash_after_fire]', async () => {
    const sleeps = workflow('t-fired', async (_: undefined, ctx) => {
      await ctx.sleep(1)
      return ctx.receive(go)
    })
    const first = await place.open(sleeps)
    await untilItWaitsFor(await first.start(sleeps, undefined, { id: 't-fired' }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(sleeps)
    await second.get('t-fired').send(go, 'on')
    await second.get('t-fired').result()

    const types = await typesOf(second.get('t-fired'))
    expect(types.filter((type) => type === 'fired')).toHaveLength(1)
  })

  test('no time at all is allowed [zero_duration_timer]', async () => {
    const sleeps = workflow('t-zero', async (_: undefined, ctx) => {
      await ctx.sleep(0)
      await ctx.sleepUntil(new Date(0))
      return 'at once'
    })
    const runtime = await place.open(sleeps)

    expect(await runtime.run(sleeps)).toBe('at once')
  })

  test('a cancelled timer does not fire [timer_cancellation]', async () => {
    const cancels = workflow('t-cancels', async (_: undefined, ctx) => {
      const timer = ctx.sleep('1h')
      timer.cancel('changed my mind')
      return timer.then(
        () => 'fired',
        (error: Error) => error.message,
      )
    })
    const runtime = await place.open(cancels)
    const instance = await runtime.start(cancels)

    expect(await instance.result()).toContain('changed my mind')
    expect(await typesOf(instance)).not.toContain('fired')
  })

  test('all timers continue after a restart [multiple_timers_recovery_after_crash]', async () => {
    const sleeps = workflow('t-many', async (_: undefined, ctx) => {
      const order: number[] = []
      await ctx.all(
        [120, 100, 110].map((ms) => async (inner) => {
          await inner.sleep(ms)
          order.push(ms)
        }),
      )
      return order
    })
    const first = await place.open(sleeps)
    await untilItWaitsFor(await first.start(sleeps, undefined, { id: 't-many' }), 'timer')
    await first.close({ drain: 0 })
    const second = await place.open(sleeps)

    expect(await second.get('t-many').result()).toEqual([100, 110, 120])
  })

  test('a timer counts from the turn that set it [timer_fires_at_correct_time_after_previous_timer]', async () => {
    const sleeps = workflow('t-after', async (_: undefined, ctx) => {
      await ctx.sleep(30)
      await ctx.sleep(30)
    })
    const runtime = await place.open(sleeps)
    const instance = await runtime.start(sleeps)
    await instance.result()

    const events = await eventsOf(instance)
    const fired = events.filter(({ type }) => type === 'fired').map(({ at }) => at.getTime())
    const set = events.filter(({ type }) => type === 'timer')
    expect(fired[1]! - fired[0]!).toBeGreaterThanOrEqual(30)
    expect((set[1]!.data as { fireAt: Date }).fireAt.getTime()).toBe(set[1]!.at.getTime() + 30)
  })

  test('the time of a timer is recorded, then its end [dispatcher_enqueues_timer_schedule_then_completes]', async () => {
    const sleeps = workflow('t-recorded', async (_: undefined, ctx) => ctx.sleep(1))
    const runtime = await place.open(sleeps)
    const instance = await runtime.start(sleeps)
    await instance.result()

    expect(await typesOf(instance)).toEqual(['started', 'timer', 'fired', 'ended'])
  })

  test('a start of a client is found by the runtime [dispatcher_enqueues_start_orchestration_to_orch_queue]', async () => {
    const quick = workflow('t-found', async () => 'found')
    const instance = await place.connect().start(quick)
    expect((await instance.info())?.status).toBe('scheduled')

    await place.open(quick)

    expect(await instance.result()).toBe('found')
  })
})

describeInPlaces('time and ids', (place) => {
  test('an id is a UUID, and no two are the same [test_new_guid]', async () => {
    const ids = workflow('s-ids', async (_: undefined, ctx) => [ctx.uuid(), ctx.uuid()])
    const runtime = await place.open(ids)

    const [one, two] = await runtime.run(ids)

    expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(two).not.toBe(one)
  })

  test('the time is that of the turn [test_utc_now_ms]', async () => {
    const times = workflow('s-times', async (_: undefined, ctx) => {
      const first = ctx.now()
      await ctx.sleep(5)
      return [first, ctx.now()]
    })
    const runtime = await place.open(times)

    const [first, second] = await runtime.run(times)

    expect(Math.abs(first!.getTime() - Date.now())).toBeLessThan(60_000)
    expect(second!.getTime()).toBeGreaterThanOrEqual(first!.getTime() + 5)
  })

  /** Runs to a message, restarts, and returns what code saw before and after. */
  const seenTwice = async (
    name: string,
    look: (ctx: WorkflowContext) => Promise<unknown>,
  ): Promise<unknown[]> => {
    const seen: unknown[] = []
    const looks = workflow(name, async (_: undefined, ctx) => {
      seen.push(await look(ctx))
      await ctx.receive(go)
      return 'end'
    })
    const first = await place.open(looks)
    await untilItWaitsFor(await first.start(looks, undefined, { id: name }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(looks)
    await second.get(name).send(go, 'on')
    await second.get(name).result()
    return seen
  }

  test('they are the same on replay [test_system_calls_deterministic_replay]', async () => {
    const [before, after] = await seenTwice('s-replay', async (ctx) => [
      ctx.now(),
      ctx.uuid(),
      ctx.random(),
    ])

    expect(after).toEqual(before)
  })

  test('they can be used beside a race [test_system_calls_with_select]', async () => {
    const [before, after] = await seenTwice('s-race', async (ctx) => {
      const id = ctx.uuid()
      const { key } = await ctx.race({ work: ctx.run(echo, id), time: ctx.sleep('1h') })
      return [id, key, ctx.now()]
    })

    expect(after).toEqual(before)
    expect(after).toContain('work')
  })

  test('they can be used beside a join [test_system_calls_join_with_activities]', async () => {
    const [before, after] = await seenTwice('s-join', async (ctx) => [
      ...(await ctx.all([ctx.run(echo, 1), ctx.run(echo, ctx.uuid())])),
      ctx.now(),
    ])

    expect(after).toEqual(before)
  })

  test.each([
    ['the time [test_utc_now_as_activity_input_replays_correctly]', 'now'],
    ['an id [test_new_guid_as_activity_input_replays_correctly]', 'uuid'],
  ] as const)('%s may be the input of an activity', async (_title, what) => {
    const [before, after] = await seenTwice(`s-input-${what}`, async (ctx) =>
      ctx.run(echo, ctx[what]()),
    )

    expect(before).toBeDefined()
    expect(after).toEqual(before)
  })

  test('the time after an activity is later [test_activity_then_syscall_ordering]', async () => {
    const [before, after] = await seenTwice('s-behind', async (ctx) => {
      const first = ctx.now()
      await ctx.run(echo, 1)
      await ctx.sleep(3)
      return [first, ctx.now()]
    })

    const [first, second] = before as [Date, Date]
    expect(second.getTime()).toBeGreaterThan(first.getTime())
    expect(after).toEqual(before)
  })

  test('several of one kind do not get mixed up [test_multiple_syscalls_same_type]', async () => {
    const [before, after] = await seenTwice('s-several', async (ctx) => [
      ctx.uuid(),
      ctx.uuid(),
      ctx.random(),
      ctx.random(),
    ])

    expect(new Set(before as unknown[]).size).toBe(4)
    expect(after).toEqual(before)
  })

  test('they work where one instance runs at a time [test_syscalls_work_in_single_thread_mode]', async () => {
    const ids = workflow('s-single', async (_: undefined, ctx) => ctx.run(echo, ctx.uuid()))
    const runtime = await place.open(ids, { concurrency: { instances: 1, activities: 1 } })

    const results = await Promise.all([runtime.run(ids), runtime.run(ids)])

    expect(new Set(results).size).toBe(2)
  })

  test('an instance that used them is cancelled like any other [test_cancellation_with_pending_syscall]', async () => {
    const waits = workflow('s-cancels', async (_: undefined, ctx) => {
      ctx.uuid()
      ctx.now()
      await ctx.receive(go)
    })
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
  })
})
