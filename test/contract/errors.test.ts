import { expect, test } from 'vitest'

import {
  activity,
  channel,
  type ExportedHistory,
  type HistoryEvent,
  type Schema,
  workflow,
} from '../../src/index.ts'
import {
  describeInPlaces,
  errorOf,
  ONCE,
  reportOf,
  statusOf,
  untilItWaitsFor,
} from '../support/contract.ts'
import { eventually } from '../support/engine.ts'

// Differences: what is not registered is waited for, and named, instead of failing; code that
// changed suspends the instance instead of failing it; an early message is kept.

const go = channel<string>('go')
const debit = activity('debit', ONCE, (account: string) => {
  if (account === 'empty') throw new Error('insufficient')
  return `debited:${account}`
})
const ship = activity('ship', ONCE, (item: string) => {
  if (item === 'broken') throw new Error('courier_unavailable')
  return `shipped:${item}`
})
const refund = activity('refund', (account: string) => `refunded:${account}`)
const order = workflow(
  'e-order',
  async ({ account, item }: { account: string; item: string }, ctx) => {
    await ctx.run(debit, account)
    try {
      return await ctx.run(ship, item)
    } catch (error) {
      return `${await ctx.run(refund, account)}:${(error as Error).message}`
    }
  },
)

describeInPlaces('errors', (place) => {
  test.each([
    ['in memory [error_handling_compensation_on_ship_failure_inmem]'],
    ['on a file [error_handling_compensation_on_ship_failure_fs]'],
  ])('completed steps are compensated, %s', async () => {
    const runtime = await place.open(order)

    const result = await runtime.run(order, { account: 'A', item: 'broken' })

    expect(result).toMatch(/^refunded:A:.*courier_unavailable/)
  })

  test.each([
    ['in memory [error_handling_success_path_inmem]'],
    ['on a file [error_handling_success_path_fs]'],
  ])('without an error nothing is compensated, %s', async () => {
    const runtime = await place.open(order)

    expect(await runtime.run(order, { account: 'A', item: 'book' })).toBe('shipped:book')
  })

  test.each([
    ['in memory [error_handling_early_debit_failure_inmem]'],
    ['on a file [error_handling_early_debit_failure_fs]'],
  ])('an early error ends it, %s', async () => {
    const runtime = await place.open(order)

    await expect(runtime.run(order, { account: 'empty', item: 'book' })).rejects.toThrow(
      'insufficient',
    )
  })

  test('a message after the end is refused, and changes nothing [event_after_completion_is_ignored_fs]', async () => {
    const one = workflow('e-one', async (_: undefined, ctx) => ctx.receive(go))
    const runtime = await place.open(one)
    const instance = await runtime.start(one)
    await instance.send(go, 'first')
    await instance.result()

    await expect(instance.send(go, 'late')).rejects.toThrow('has ended')
    expect(await instance.result()).toBe('first')
  })

  test('a message before the receive is kept [event_before_subscription_after_start_is_ignored]', async () => {
    const late = workflow('e-late', async (_: undefined, ctx) => {
      await ctx.sleep(20)
      return ctx.receive(go)
    })
    const runtime = await place.open(late)
    const instance = await runtime.start(late)

    await instance.send(go, 'early')

    expect(await instance.result()).toBe('early')
  })

  // The contract names a cap that nothing enforces; here there is none either.
  test.each([
    ['in memory [history_cap_exceeded_inmem]', 300],
    ['on a file [history_cap_exceeded_fs]', 301],
  ])('a history has no cap: hundreds of steps pass, %s', async (_title, count) => {
    const long = workflow(`e-long-${count}`, async (_: undefined, ctx) => {
      await ctx.all(Array.from({ length: count }, (_item, i) => ctx.step(`s${i}`, () => i)))
      return count
    })
    const runtime = await place.open(long)

    expect(await runtime.run(long)).toBe(count)
  })

  test('a workflow that throws at once fails [orchestration_immediate_fail_fs]', async () => {
    const throws = workflow('e-throws', async () => {
      throw new Error('oops')
    })
    const runtime = await place.open(throws)
    const instance = await runtime.start(throws)

    await expect(instance.result()).rejects.toThrow('oops')
    expect((await instance.info())?.status).toBe('failed')
  })

  test('the failure of an activity is that of the workflow [orchestration_propagates_activity_failure_fs]', async () => {
    const passes = workflow('e-passes', async (_: undefined, ctx) => ctx.run(debit, 'empty'))
    const runtime = await place.open(passes)
    const instance = await runtime.start(passes)

    await expect(instance.result()).rejects.toThrow('insufficient')
    expect((await instance.info())?.error?.message).toContain('insufficient')
  })

  test('input that does not fit an activity is an error where it is called [typed_activity_decode_error_fs]', async () => {
    const input: Schema<number> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          typeof value === 'number' ? { value } : { issues: [{ message: 'not a number' }] },
      },
    }
    const typed = activity('e-typed', { ...ONCE, input }, (n: number) => n)
    const passes = workflow('e-decodes', async (_: undefined, ctx) =>
      ctx.run(typed, 'text' as unknown as number),
    )
    const runtime = await place.open(passes)

    await expect(runtime.run(passes)).rejects.toThrow('not a number')
  })

  test('a second start of an id is the first one [test_instance_id_idempotence]', async () => {
    let runs = 0
    const count = activity('e-count', () => ++runs)
    const counts = workflow('e-counts', async (_: undefined, ctx) => ctx.run(count))
    const runtime = await place.open(counts)

    const results = await Promise.all(
      [1, 2, 3].map(() => runtime.run(counts, undefined, { id: 'e-same' })),
    )

    expect(results).toEqual([1, 1, 1])
  })

  test('any thrown value is caught, with its message [orchestration_panic_is_caught_and_fails_with_message]', async () => {
    const panics = workflow('e-panics', async () => {
      const nothing = undefined as unknown as { deep: { value: number } }
      return nothing.deep.value
    })
    const runtime = await place.open(panics)
    const instance = await runtime.start(panics)

    await expect(instance.result()).rejects.toThrow('undefined')
    expect((await instance.info())?.status).toBe('failed')
  })
})

describeInPlaces('what is not registered', (place) => {
  test.each([
    ['is waited for, and named [unknown_activity_fails_fs]'],
    ['does not fail its workflow [unknown_activity_fails_with_poison]'],
  ])('an activity without code %s', async (title) => {
    const missing = activity<string, string>('u-missing')
    const calls = workflow(`u-activity-${title.length}`, async (_: undefined, ctx) =>
      ctx.run(missing, 'x'),
    )
    const runtime = await place.open(calls)

    const instance = await runtime.start(calls)
    const warned = await eventually(() =>
      place.log.lines.find(({ message }) => message.includes('no code is registered')),
    )

    expect(warned.data).toMatchObject({ activity: 'u-missing', instanceId: instance.id })
    expect(await instance.info()).toMatchObject({
      status: 'running',
      waitingFor: ['activity "u-missing": attempt 1, waiting for a runtime'],
    })
    await instance.terminate()
  })

  test('a workflow without code is waited for, and named [unknown_orchestration_fails_with_poison]', async () => {
    const known = workflow('u-known', async () => 1)
    const unknown = workflow('u-unknown', async () => 'found')
    const runtime = await place.open(known)
    const instance = await runtime.start(unknown, undefined, { id: 'u-1' })

    expect((await instance.info())?.waitingFor).toEqual([
      'a runtime that registers workflow "u-unknown" (no live runtime does, including this one)',
    ])
    await place.open(unknown)
    expect(await instance.result()).toBe('found')
  })

  test('so is the version of a next execution [continue_as_new_to_missing_version_fails_with_poison]', async () => {
    const one = workflow('u-versions', async (n: number, ctx): Promise<string> =>
      ctx.continueAsNew(n + 1, { version: '2.0.0' }),
    )
    const two = workflow('u-versions', { version: '2.0.0' }, async (n: number) => `two ${n}`)
    const first = await place.open(one)
    const instance = await first.start(one, 1)
    await eventually(async () => (await instance.info())?.version === '2.0.0')
    expect((await instance.info())?.status).toBe('running')

    await place.open(two)

    expect(await instance.result()).toBe('two 2')
  })

  test('an instance that no runtime can run is terminated by hand [delete_poisoned_orchestration]', async () => {
    const instance = await place.connect().start(workflow('u-nobody', async () => 1))

    await instance.terminate('nobody has its code')

    expect((await instance.info())?.status).toBe('terminated')
  })
})

describeInPlaces('code and history that do not match', (place) => {
  const waits = workflow('n-waits', async (_: undefined, ctx) => {
    await ctx.step('one', () => 1)
    await ctx.sleep('1h')
    return ctx.receive(go)
  })

  /** Imports the history of a waiting instance with events added, and says what is wrong with it. */
  const withEvents = async (...added: Pick<HistoryEvent, 'type' | 'data'>[]): Promise<string> => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)
    await untilItWaitsFor(instance, 'timer')
    const exported = await instance.export()
    await instance.terminate()
    const last = exported.events.at(-1)!
    const events = [
      ...exported.events,
      ...added.map((event, i) => ({ ...event, seq: last.seq + 1 + i, at: last.at })),
    ]
    const changed: ExportedHistory = { ...exported, events }
    try {
      return (await reportOf(await runtime.import(changed, { id: `${instance.id}-imported` })))
        .message
    } catch (error) {
      return (error as Error).message
    }
  }

  test('code that was swapped suspends the instance [code_swap_triggers_nondeterminism]', async () => {
    const before = workflow('n-swap', async (_: undefined, ctx) => {
      await ctx.step('a', () => 1)
      await ctx.receive(go)
    })
    const after = workflow('n-swap', async (_: undefined, ctx) => {
      await ctx.step('b', () => 1)
      await ctx.receive(go)
    })
    const first = await place.open(before)
    await untilItWaitsFor(await first.start(before, undefined, { id: 'n-swap' }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(after)
    await second.get('n-swap').send(go, 'on')

    const report = await reportOf(second.get('n-swap'))

    expect(report).toMatchObject({ name: 'NondeterminismError' })
    expect(report.message).toMatch(/was step "a".*now asks for step "b"/)
  })

  test('a result of the wrong kind is refused [completion_kind_mismatch_triggers_nondeterminism]', async () => {
    const message = await withEvents({ type: 'completed', data: { command: 2, value: 1 } })

    expect(message).toMatch(/command 2.*timer|timer.*command 2/)
  })

  test('a result for an unknown command is refused [unexpected_completion_id_triggers_nondeterminism]', async () => {
    expect(await withEvents({ type: 'completed', data: { command: 99, value: 1 } })).toContain('99')
  })

  test('a timer that was never set is refused [unexpected_timer_completion_triggers_nondeterminism]', async () => {
    expect(await withEvents({ type: 'fired', data: { command: 77 } })).toContain('77')
  })

  test('a result that an execution no longer waits for does not affect the next [continue_as_new_with_unconsumed_completion_triggers_nondeterminism]', async () => {
    const rolls = workflow('n-rolls', async (n: number, ctx): Promise<string> => {
      if (n > 0) return ctx.receive(go)
      void ctx.step('ignored', () => 1)
      await ctx.step('awaited', () => 2)
      return ctx.continueAsNew(1)
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await instance.send(go, 'second')

    expect(await instance.result()).toBe('second')
  })

  test.each([
    [
      'goes to its own execution [execution_id_filtering_prevents_cross_execution_completions]',
      'n-own',
    ],
    [
      'of another one is dropped [execution_id_filtering_without_continue_as_new_triggers_nondeterminism]',
      'n-other',
    ],
  ])('a result of a child %s', async (_title, name) => {
    const child = workflow(`${name}-child`, async (n: number, ctx) =>
      n === 0 ? ctx.receive(go) : 'second',
    )
    const rolls = workflow(name, async (n: number, ctx): Promise<string> => {
      const running = ctx.run(child, n, { id: `${name}-${n}`, onParentClose: 'abandon' })
      if (n > 0) return running
      running.catch(() => {})
      await ctx.receive(go)
      return ctx.continueAsNew(1)
    })
    const runtime = await place.open([rolls, child])
    const instance = await runtime.start(rolls, 0)
    await untilItWaitsFor(runtime.get(`${name}-0`), 'channel "go"')
    await instance.send(go, 'roll')

    expect(await instance.result()).toBe('second')
    await runtime.get(`${name}-0`).send(go, 'first')
    expect(await statusOf(runtime.get(`${name}-0`))).toBe('completed')
    expect(await instance.result()).toBe('second')
  })

  test('the same message twice is not an error [duplicate_external_events_are_handled_gracefully]', async () => {
    const one = workflow('n-one', async (_: undefined, ctx) => {
      const got = await ctx.receive(go)
      await ctx.sleep(1)
      return got
    })
    const runtime = await place.open(one)
    const instance = await runtime.start(one)

    await Promise.all([instance.send(go, 'same'), instance.send(go, 'same')])

    expect(await instance.result()).toBe('same')
  })

  test('an invalid export is refused on import [test_error_handling]', async () => {
    const runtime = await place.open(waits)
    const error = await errorOf(runtime.import({} as ExportedHistory))

    expect(error.message).toContain('import')
  })
})
