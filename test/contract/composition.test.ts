/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import { activity, channel, failure, workflow, type WorkflowContext } from '../../src/index.ts'
import { describeInPlaces, ONCE, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { deferred } from '../support/engine.ts'
import { typesOf } from '../support/histories.ts'

// Concurrent work: blocks of code in `ctx.all` and `ctx.race`, which of them wins, and what happens
// to the others.

const step = activity('step', (text: string) => `done:${text}`)
const double = activity('double', (n: number) => n * 2)
const isEven = activity('is-even', (n: number) => n % 2 === 0)
/** Ends only when it is aborted. */
const endless = activity('endless', async (_: undefined, ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  return 'aborted'
})
const Broken = failure<{ code: number }>('BrokenInContract')
const breaks = activity('breaks', ONCE, (code: number): number => {
  throw new Broken('broken', { code })
})
const [a, b, c] = [channel<string>('a'), channel<string>('b'), channel<string>('c')]
const child = workflow('comp-child', async (text: string, ctx) => ctx.run(step, text))
const never = workflow('comp-never', async (_: undefined, ctx) => ctx.receive(a))

/** A block of two activities. */
const block = (name: string) => async (ctx: WorkflowContext) => {
  const first = await ctx.run(step, `${name}1`)
  return `${first},${await ctx.run(step, `${name}2`)}`
}

describeInPlaces('blocks of code', (place) => {
  test('blocks with branches of their own are joined [async_block_join_with_control_flow]', async () => {
    const joins = workflow('joins', async (_: undefined, ctx) =>
      ctx.all({
        branch: async (inner) =>
          (await inner.run(isEven, 4)) ? inner.run(step, 'even') : inner.run(step, 'odd'),
        loop: async (inner) => {
          let n = 1
          for (let i = 0; i < 3; i++) n = await inner.run(double, n)
          return n
        },
      }),
    )
    const runtime = await place.open(joins)

    expect(await runtime.run(joins)).toEqual({ branch: 'done:even', loop: 8 })
  })

  test('many blocks are joined, in the order of the items [async_block_join_many]', async () => {
    const many = workflow('many', async (count: number, ctx) =>
      ctx.map(
        Array.from({ length: count }, (_item, i) => i),
        async (n, inner) => inner.run(double, await inner.run(double, n)),
      ),
    )
    const runtime = await place.open(many)

    expect(await runtime.run(many, 10)).toEqual([0, 4, 8, 12, 16, 20, 24, 28, 32, 36])
  })

  test('blocks follow each other [async_block_sequential]', async () => {
    const follows = workflow('follows', async (_: undefined, ctx) => [
      await ctx.scope(block('a')),
      await ctx.scope(block('b')),
    ])
    const runtime = await place.open(follows)

    expect(await runtime.run(follows)).toEqual(['done:a1,done:a2', 'done:b1,done:b2'])
  })

  test('of two blocks the faster wins [async_block_select_racing]', async () => {
    const races = workflow('races', async (_: undefined, ctx) =>
      ctx.race({ slow: (inner) => inner.run(endless), fast: block('fast') }),
    )
    const runtime = await place.open(races)

    expect(await runtime.run(races)).toEqual({ key: 'fast', value: 'done:fast1,done:fast2' })
  })

  test('a block races with a single activity [async_block_vs_durable_future]', async () => {
    const races = workflow('block-or-one', async (_: undefined, ctx) =>
      ctx.race({ one: ctx.run(endless), block: block('b') }),
    )
    const runtime = await place.open(races)

    expect((await runtime.run(races)).key).toBe('block')
  })

  test('of three blocks with timers the shortest wins [async_block_select3_with_timers]', async () => {
    const waits = (ms: number) => async (ctx: WorkflowContext) => {
      await ctx.sleep(ms)
      return ctx.run(step, `${ms}`)
    }
    const three = workflow('three', async (_: undefined, ctx) =>
      ctx.race({ day: waits(86_400_000), short: waits(2), hour: waits(3_600_000) }),
    )
    const runtime = await place.open(three)

    expect(await runtime.run(three)).toEqual({ key: 'short', value: 'done:2' })
  })

  test('a join inside a block wins a race [async_block_nested_join_in_select]', async () => {
    const nests = workflow('nests', async (_: undefined, ctx) =>
      ctx.race({
        joined: (inner) => inner.all([inner.run(step, 'x'), inner.run(step, 'y')]),
        time: ctx.sleep('1h'),
      }),
    )
    const runtime = await place.open(nests)

    expect(await runtime.run(nests)).toEqual({ key: 'joined', value: ['done:x', 'done:y'] })
  })

  test('a block with a child wins a race [async_block_suborchestration_wins_race]', async () => {
    const wins = workflow('child-wins', async (_: undefined, ctx) =>
      ctx.race({ child: (inner) => inner.run(child, 'c'), work: ctx.run(endless) }),
    )
    const runtime = await place.open([wins, child])

    expect(await runtime.run(wins)).toEqual({ key: 'child', value: 'done:c' })
  })

  test('the child of a block that lost is cancelled [async_block_suborchestration_loses_race]', async () => {
    const loses = workflow('child-loses', async (_: undefined, ctx) => {
      const { key } = await ctx.race({
        child: (inner) => inner.run(never, undefined, { id: 'lost-child' }),
        quick: async (inner) => {
          await inner.receive(b)
          return 1
        },
      })
      return key
    })
    const runtime = await place.open([loses, never])
    const instance = await runtime.start(loses)
    await untilItWaitsFor(runtime.get('lost-child'), 'channel "a"')

    await instance.send(b, 'quick')

    expect(await instance.result()).toBe('quick')
    expect(await statusOf(runtime.get('lost-child'))).toBe('cancelled')
  })

  test('several children in blocks are joined [async_block_multiple_suborchestrations_joined]', async () => {
    const joins = workflow('joins-children', async (_: undefined, ctx) =>
      ctx.map(['x', 'y', 'z'], async (text, inner) =>
        inner.run(step, await inner.run(child, text)),
      ),
    )
    const runtime = await place.open([joins, child])

    expect(await runtime.run(joins)).toEqual(['done:done:x', 'done:done:y', 'done:done:z'])
  })

  test('a child that takes too long loses against time [async_block_suborchestration_racing_timeout]', async () => {
    const late = workflow('late-child', async (_: undefined, ctx) =>
      ctx.race({
        child: (inner) => inner.run(never, undefined, { id: 'late-child-1' }),
        time: ctx.sleep(30),
      }),
    )
    const runtime = await place.open([late, never])

    expect(await runtime.run(late)).toEqual({ key: 'time', value: undefined })
    expect(await statusOf(runtime.get('late-child-1'))).toBe('cancelled')
  })

  test('children have children, each in a block [async_block_nested_suborchestration_chain]', async () => {
    const middle = workflow('comp-middle', async (text: string, ctx) =>
      ctx.scope(async (inner) => `mid(${await inner.run(child, text)})`),
    )
    const root = workflow('comp-root', async (text: string, ctx) =>
      ctx.scope(async (inner) => `root(${await inner.run(middle, text)})`),
    )
    const runtime = await place.open([root, middle, child])

    expect(await runtime.run(root, 'leaf')).toBe('root(mid(done:leaf))')
  })
})

describeInPlaces('order of results', (place) => {
  test('of two waits the message that came first decides [select2_two_externals_first_delivery_wins]', async () => {
    const either = workflow('either-message', async (_: undefined, ctx) =>
      ctx.race({ a: ctx.receive(a), b: ctx.receive(b) }),
    )
    const runtime = await place.open(either)
    const instance = await runtime.start(either)

    await instance.send(b, 'B')

    expect(await instance.result()).toEqual({ key: 'b', value: 'B' })
  })

  test('activity, message and timer race in one [select3_mixed_branch_order_winner]', async () => {
    const mixed = workflow('mixed-race', async (_: undefined, ctx) =>
      ctx.race({ work: ctx.run(endless), message: ctx.receive(a), time: ctx.sleep('1h') }),
    )
    const runtime = await place.open(mixed)
    const instance = await runtime.start(mixed)

    await instance.send(a, 'first')

    expect(await instance.result()).toEqual({ key: 'message', value: 'first' })
  })

  test('results are in the order of the calls, not of their ends [join_returns_schedule_order]', async () => {
    const joins = workflow('joins-messages', async (_: undefined, ctx) =>
      ctx.all([ctx.receive(a), ctx.receive(b), ctx.receive(c)]),
    )
    const runtime = await place.open(joins)
    const instance = await runtime.start(joins)

    await instance.send(c, 'C')
    await instance.send(b, 'B')
    await instance.send(a, 'A')

    expect(await instance.result()).toEqual(['A', 'B', 'C'])
  })

  // The contract consumes the event of the loser; here the message stays for the next receive.
  test('a message that the loser waited for goes to the next receive, also on replay [test_select2_loser_event_consumed_during_replay]', async () => {
    const keeps = workflow('keeps-loser', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ a: ctx.receive(a), b: ctx.receive(b) })
      await ctx.receive(c)
      return [key, await ctx.receive(b)]
    })
    const first = await place.open(keeps)
    const instance = await first.start(keeps, undefined, { id: 'keeps-loser' })
    await instance.send(a, 'A')
    await untilItWaitsFor(instance, 'channel "c"')
    await instance.send(b, 'B')
    await first.close({ drain: 0 })
    const second = await place.open(keeps)
    await second.get('keeps-loser').send(c, 'C')

    expect(await second.get('keeps-loser').result()).toEqual(['a', 'B'])
  })

  test('more activities can be called once the winner is known [test_select2_schedule_after_winner_returns]', async () => {
    const after = workflow('after-winner', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ time: ctx.sleep(1), work: ctx.run(endless) })
      return ctx.run(step, key)
    })
    const runtime = await place.open(after)

    expect(await runtime.run(after)).toBe('done:time')
  })

  test('a result that is not awaited delays nothing [simplified_futures_unawaited_completion_does_not_block]', async () => {
    const ignores = workflow('ignores', async (_: undefined, ctx) => {
      const ignored = ctx.run(step, 'ignored')
      const text = await ctx.run(step, 'awaited')
      await ctx.sleep(1)
      void ignored
      return text
    })
    const runtime = await place.open(ignores)

    expect(await runtime.run(ignores)).toBe('done:awaited')
  })

  test('a workflow waits for a message [wait_external_completes_fs]', async () => {
    const waits = workflow(
      'waits-external',
      async (_: undefined, ctx) => `got ${await ctx.receive(a)}`,
    )
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)

    await instance.send(a, 'it')

    expect(await instance.result()).toBe('got it')
  })

  test('the timer wins when no message comes, and a later message changes nothing [race_external_vs_timer_ordering_fs]', async () => {
    const races = workflow('timer-first', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ message: ctx.receive(a), time: ctx.sleep(1) })
      await ctx.receive(b)
      return key
    })
    const runtime = await place.open(races)
    const instance = await runtime.start(races)
    await untilItWaitsFor(instance, 'channel "b"')

    await instance.send(a, 'late')
    await instance.send(b, 'go')

    expect(await instance.result()).toBe('time')
  })

  test('a message that comes in time beats the timer [race_event_vs_timer_event_wins_fs]', async () => {
    const races = workflow('message-first', async (_: undefined, ctx) =>
      ctx.race({ message: ctx.receive(a), time: ctx.sleep('1h') }),
    )
    const runtime = await place.open(races)
    const instance = await runtime.start(races)

    await instance.send(a, 'in time')

    expect(await instance.result()).toEqual({ key: 'message', value: 'in time' })
    expect(await typesOf(instance)).not.toContain('fired')
  })
})

describeInPlaces('typed composition', (place) => {
  test('activities fan out and are joined with their types [typed_activity_join_fan_out]', async () => {
    const fans = workflow('fans', async (ns: readonly number[], ctx) =>
      (await ctx.all(ns.map((n) => ctx.run(double, n)))).reduce((sum, n) => sum + n, 0),
    )
    const runtime = await place.open(fans)

    expect(await runtime.run(fans, [1, 2, 3])).toBe(12)
  })

  test('results of different types are joined [typed_activity_join2_heterogeneous]', async () => {
    const joins = workflow('joins-types', async (_: undefined, ctx) => {
      const [n, even] = await ctx.all([ctx.run(double, 21), ctx.run(isEven, 3)])
      return { n: n.toFixed(), even: !even }
    })
    const runtime = await place.open(joins)

    expect(await runtime.run(joins)).toEqual({ n: '42', even: true })
  })

  test('a typed activity loses against a timer [typed_activity_select2_timeout]', async () => {
    const times = workflow('typed-timeout', async (_: undefined, ctx) => {
      const first = await ctx.race({ text: ctx.run(endless), time: ctx.sleep(1) })
      return first.key === 'text' ? first.value.length : -1
    })
    const runtime = await place.open(times)

    expect(await runtime.run(times)).toBe(-1)
  })

  test('a result is mapped [durable_future_map_transforms_result]', async () => {
    const maps = workflow('maps', async (n: number, ctx) =>
      ctx.run(double, n).then((doubled) => `=${doubled}`),
    )
    const runtime = await place.open(maps)

    expect(await runtime.run(maps, 4)).toBe('=8')
  })

  test('results are mapped, then joined [typed_map_then_join]', async () => {
    const maps = workflow('maps-then-joins', async (_: undefined, ctx) =>
      ctx.all([
        async (inner) => (await inner.run(double, 1)) + 100,
        async (inner) => `<${await inner.run(step, 'x')}>`,
      ]),
    )
    const runtime = await place.open(maps)

    expect(await runtime.run(maps)).toEqual([102, '<done:x>'])
  })

  test('a mapped result is still cancelled when it loses [map_preserves_cancellation_on_drop]', async () => {
    const aborted = deferred<string>()
    const watched = activity('watched', async (_: undefined, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve((ctx.signal.reason as Error).name)
    })
    const drops = workflow('drops-mapped', async (_: undefined, ctx) => {
      const { key } = await ctx.race({
        mapped: async (inner) => [await inner.run(watched)],
        time: ctx.sleep(20),
      })
      return key
    })
    const runtime = await place.open(drops)

    expect(await runtime.run(drops)).toBe('time')
    expect(await aborted.promise).toBe('CancelledError')
  })

  test('a join rejects with the original failure [typed_error_propagation_through_join]', async () => {
    const joins = workflow('joins-failure', async (_: undefined, ctx) => {
      try {
        return await ctx.all([ctx.run(double, 1), ctx.run(breaks, 7)])
      } catch (error) {
        return error instanceof Broken ? error.details.code : String(error)
      }
    })
    const runtime = await place.open(joins)

    expect(await runtime.run(joins)).toBe(7)
  })
})

describeInPlaces('instances side by side', (place) => {
  test('two workflows with different activities run at once [concurrent_orchestrations_different_activities_fs]', async () => {
    const doubles = workflow('doubles', async (n: number, ctx) => ctx.run(double, n))
    const steps = workflow('steps', async (text: string, ctx) => ctx.run(step, text))
    const runtime = await place.open([doubles, steps])

    expect(await Promise.all([runtime.run(doubles, 4), runtime.run(steps, 'x')])).toEqual([
      8,
      'done:x',
    ])
  })

  test('two workflows with the same activity keep their results apart [concurrent_orchestrations_same_activities_fs]', async () => {
    const one = workflow('same-1', async (text: string, ctx) => ctx.run(step, text))
    const two = workflow('same-2', async (text: string, ctx) => ctx.run(step, text))
    const runtime = await place.open([one, two])

    expect(await Promise.all([runtime.run(one, 'x'), runtime.run(two, 'y')])).toEqual([
      'done:x',
      'done:y',
    ])
  })

  test('one workflow joins activities [single_orchestration_with_join_test]', async () => {
    const joins = workflow('joins-one', async (_: undefined, ctx) =>
      ctx.all([ctx.run(step, 'x'), ctx.run(step, 'y')]),
    )
    const runtime = await place.open(joins)

    expect(await runtime.run(joins)).toEqual(['done:x', 'done:y'])
  })

  test('one activity called twice with one input has two results, even after a restart [same_activity_name_and_input_routes_correctly_across_restart]', async () => {
    let calls = 0
    const count = activity('count', (text: string) => `${text}${++calls}`)
    const twice = workflow('twice-same', async (_: undefined, ctx) => {
      const both = await ctx.all([ctx.run(count, 'x'), ctx.run(count, 'x')])
      await ctx.receive(a)
      return both
    })
    const first = await place.open(twice)
    await untilItWaitsFor(await first.start(twice, undefined, { id: 'twice-same' }), 'channel "a"')
    await first.close({ drain: 0 })
    const second = await place.open(twice)
    await second.get('twice-same').send(a, 'go')

    expect(await second.get('twice-same').result()).toEqual(['x1', 'x2'])
    expect(calls).toBe(2)
  })
})
