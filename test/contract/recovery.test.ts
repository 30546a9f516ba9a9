/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import { activity, channel, open, workflow } from '../../src/index.ts'
import { describeInPlaces, untilItWaitsFor } from '../support/contract.ts'
import { deferred } from '../support/engine.ts'
import { typesOf } from '../support/histories.ts'

// Processes that die are tested in `test/e2e`, with kill -9; here a runtime is closed without being
// given time, and another one continues. Difference: a lock is the lease of a runtime.

const go = channel<string>('go')
const echo = activity('echo', (value: string) => value)

describeInPlaces('another runtime continues', (place) => {
  test.each([
    ['on a store that stays [recovery_across_restart_sqlite_provider]', 'r-file'],
    ['on the same store, opened again [test_sqlite_basic_persistence]', 'r-again'],
    ['in one process [recovery_across_restart_sqlite_memory]', 'r-memory'],
  ])('where the first one stopped, %s', async (_title, id) => {
    let calls = 0
    const counted = activity(`${id}-counted`, (text: string) => `${text}${++calls}`)
    const steps = workflow(id, async (_: undefined, ctx) => [
      await ctx.run(counted, 'a'),
      await ctx.receive(go),
      await ctx.run(counted, 'b'),
    ])
    const first = await place.open(steps)
    await untilItWaitsFor(await first.start(steps, undefined, { id }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(steps)
    await second.get(id).send(go, 'x')

    expect(await second.get(id).result()).toEqual(['a1', 'x', 'b2'])
  })

  test('with workflows of several shapes [recovery_multiple_orchestrations_sqlite_provider]', async () => {
    const child = workflow('r-child', async (_: undefined, ctx) => ctx.receive(go))
    const shapes = [
      workflow('r-waits', async (_: undefined, ctx) => ctx.receive(go)),
      workflow('r-sleeps', async (_: undefined, ctx) => {
        await ctx.sleep(100)
        return 'slept'
      }),
      workflow('r-parent', async (_: undefined, ctx) =>
        ctx.run(child, undefined, { id: 'r-its-child' }),
      ),
      workflow('r-races', async (_: undefined, ctx) => {
        const { key } = await ctx.race({ go: ctx.receive(go), time: ctx.sleep('1h') })
        return key
      }),
    ]
    const first = await place.open([...shapes, child])
    for (const shape of shapes) await first.start(shape, undefined, { id: shape.name })
    await untilItWaitsFor(first.get('r-its-child'), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open([...shapes, child])
    for (const id of ['r-waits', 'r-its-child', 'r-races']) await second.get(id).send(go, 'sent')

    const results = await Promise.all(shapes.map(({ name }) => second.get(name).result()))

    expect(results).toEqual(['sent', 'slept', 'sent', 'go'])
  })

  /** An activity whose first attempt lasts until its runtime is gone. */
  const cutOff = (name: string) => {
    const begun = deferred()
    let runs = 0
    const definition = activity(name, async (text: string, ctx) => {
      if (++runs > 1) return `${text} again`
      begun.resolve()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      throw new Error('cut off')
    })
    return { definition, begun: begun.promise }
  }

  test.each([
    [
      'an activity that was cut off runs again [activity_reliability_after_crash_before_completion_enqueue]',
      'r-cut-1',
    ],
    [
      'nothing is lost in the middle of one [crash_after_dequeue_before_append_completion]',
      'r-cut-2',
    ],
    ['its result counts once [worker_abandon_on_ack_failure_enables_retry]', 'r-cut-3'],
  ])('%s', async (_title, id) => {
    const { definition, begun } = cutOff(`${id}-activity`)
    const runs = workflow(id, async (_: undefined, ctx) => ctx.run(definition, 'x'))
    const first = await place.open(runs)
    await first.start(runs, undefined, { id })
    await begun
    await first.close({ drain: 0 })
    const second = await place.open(runs)

    expect(await second.get(id).result()).toBe('x again')
    expect(await typesOf(second.get(id))).toEqual(['started', 'activity', 'completed', 'ended'])
  })

  test('so do several at once [multiple_activities_reliability_after_crash]', async () => {
    const cut = ['a', 'b', 'c'].map((name) => cutOff(`r-cut-${name}`))
    const runs = workflow('r-cut-many', async (_: undefined, ctx) =>
      ctx.all(cut.map(({ definition }, i) => ctx.run(definition, `${i}`))),
    )
    const first = await place.open(runs)
    await first.start(runs, undefined, { id: 'r-cut-many' })
    await Promise.all(cut.map(({ begun }) => begun))
    await first.close({ drain: 0 })
    const second = await place.open(runs)

    expect(await second.get('r-cut-many').result()).toEqual(['0 again', '1 again', '2 again'])
  })
})

describeInPlaces('duplicates', (place) => {
  test('a message under one key comes once [external_duplicate_workitems_dedup]', async () => {
    const two = workflow('dup-messages', async (_: undefined, ctx) => [
      await ctx.receive(go),
      await ctx.receive(go),
    ])
    const runtime = await place.open(two)
    const instance = await runtime.start(two)

    await instance.send(go, 'once', { dedupeKey: 'k' })
    await instance.send(go, 'once', { dedupeKey: 'k' })
    await instance.send(go, 'other')

    expect(await instance.result()).toEqual(['once', 'other'])
  })

  test.each([
    ['a timer fires [timer_duplicate_workitems_dedup]', 'dup-timer', 'fired'],
    [
      'a timer that is recorded fires [crash_after_append_before_ack_timer]',
      'dup-timer-2',
      'fired',
    ],
    [
      'an activity ends [activity_duplicate_completion_workitems_dedup]',
      'dup-activity',
      'completed',
    ],
  ])('%s once, over restarts', async (_title, id, type) => {
    const runs = workflow(id, async (_: undefined, ctx) => {
      await (type === 'fired' ? ctx.sleep(5) : ctx.run(echo, 'x'))
      return ctx.receive(go)
    })
    for (let i = 0; i < 2; i++) {
      const runtime = await place.open(runs)
      await untilItWaitsFor(await runtime.start(runs, undefined, { id }), 'channel "go"')
      await runtime.close({ drain: 0 })
    }
    const last = await place.open(runs)
    await last.get(id).send(go, 'on')
    await last.get(id).result()

    expect((await typesOf(last.get(id))).filter((found) => found === type)).toHaveLength(1)
  })
})

describeInPlaces('leases', (place) => {
  test.each([
    ['of five seconds [orchestration_with_custom_timeout_completes]', '5s'],
    ['as short as it may be [very_short_lock_timeout_works]', '1s'],
    ['longer than any work [short_activity_no_renewal_needed]', '30s'],
  ] as const)('work is done under a lease %s', async (_title, lease) => {
    const runs = workflow(`lease-${lease}`, async (_: undefined, ctx) => ctx.run(echo, lease))
    const runtime = await place.open(runs, { lease })

    expect(await runtime.run(runs)).toBe(lease)
  })

  test.each([
    ['of one activity [long_running_activity_with_lock_renewal]', 1],
    ['of several [concurrent_activities_with_renewal]', 3],
  ])('work that outlasts the lease stays with its runtime, the run %s', async (_title, count) => {
    const starts: string[] = []
    const long = activity(`long-${count}`, async (name: string) => {
      starts.push(name)
      await new Promise((resolve) => setTimeout(resolve, 1_300))
      return name
    })
    const runs = workflow(`outlasts-${count}`, async (_: undefined, ctx) =>
      ctx.all(Array.from({ length: count }, (_item, i) => ctx.run(long, `${i}`))),
    )
    const runtime = await place.open(runs, { lease: '1s' })
    await place.open(runs, { lease: '1s' })

    const result = await runtime.run(runs)

    expect(starts).toEqual(result)
  })

  test('two runtimes work on one store [test_sqlite_file_concurrent_access]', async () => {
    const shared = workflow('shared', async (n: number, ctx) => ctx.run(echo, `${n}`))
    const runtimes = [await place.open(shared), await place.open(shared)]

    const results = await Promise.all(
      Array.from({ length: 20 }, (_item, n) => runtimes[n % 2]!.run(shared, n)),
    )

    expect(results).toEqual(Array.from({ length: 20 }, (_item, n) => `${n}`))
  })
})

describe('options of a lease', () => {
  test('one that is too short is refused [custom_lock_timeout_configuration]', async () => {
    const register = workflow('refused', async () => 1)

    await expect(open('memory:', { register, lease: 10 })).rejects.toThrow('lease')
  })
})
