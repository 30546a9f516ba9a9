/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import {
  activity,
  CancelledError,
  channel,
  stateKey,
  TimeoutError,
  workflow,
  type WorkflowContext,
} from '../../src/index.ts'
import {
  describeInPlaces,
  errorOf,
  ONCE,
  type Place,
  untilItWaitsFor,
} from '../support/contract.ts'
import { STORES_IN_BOTH_MODES } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

// The samples of the contract, each as a program of ours. Left out until they exist: pruning,
// tags, and statistics of an instance.

const hello = activity('hello', (name: string) => `Hello, ${name}!`)
const upper = activity('upper', (text: string) => text.toUpperCase())
const add = activity('add', ({ a, b }: { a: number; b: number }) => a + b)
const fails = activity('fails', ONCE, (why: string): string => {
  throw new Error(why)
})
const slow = activity('slow', async (_: undefined, ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  return 'slow'
})
const go = channel<string>('go')

const describeSamples = (name: string, suite: (place: Place) => void): void =>
  describeInPlaces(`samples: ${name}`, suite, STORES_IN_BOTH_MODES)

describeSamples('control flow', (place) => {
  test('one activity is called, and its greeting returned [sample_hello_world_fs]', async () => {
    const greets = workflow('greets', async (name: string, ctx) => ctx.run(hello, name))
    const runtime = await place.open(greets)

    expect(await runtime.run(greets, 'Kim')).toBe('Hello, Kim!')
  })

  test('the branch that an activity decides on is taken [sample_basic_control_flow_fs]', async () => {
    const flag = activity('flag', (n: number) => (n > 0 ? 'yes' : 'no'))
    const sayYes = activity('say-yes', () => 'picked yes')
    const sayNo = activity('say-no', () => 'picked no')
    const picks = workflow('picks', async (n: number, ctx) =>
      (await ctx.run(flag, n)) === 'yes' ? ctx.run(sayYes) : ctx.run(sayNo),
    )
    const runtime = await place.open([picks, sayYes, sayNo, flag])

    expect(await runtime.run(picks, 1)).toBe('picked yes')
    expect(await runtime.run(picks, 0)).toBe('picked no')
  })

  test('a loop gathers the results of its activities [sample_loop_fs]', async () => {
    const append = activity('append', (text: string) => `${text}x`)
    const loops = workflow('loops', async (count: number, ctx) => {
      let text = 'start'
      for (let i = 0; i < count; i++) text = await ctx.run(append, text)
      return text
    })
    const runtime = await place.open(loops)

    expect(await runtime.run(loops, 3)).toBe('startxxx')
  })

  test('two greetings in parallel are joined in order [dtf_legacy_gabbar_greetings_fs]', async () => {
    const greetings = workflow('greetings', async (_: undefined, ctx) =>
      (await ctx.all([ctx.run(hello, 'Gabbar'), ctx.run(hello, 'Samba')])).join(', '),
    )
    const runtime = await place.open(greetings)

    expect(await runtime.run(greetings)).toBe('Hello, Gabbar!, Hello, Samba!')
  })

  test('an activity that takes longer than a timer loses [sample_timeout_with_timer_race_fs]', async () => {
    const hurries = workflow('hurries', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ work: ctx.run(slow), time: ctx.sleep(5) })
      if (key === 'time') throw new TimeoutError('too slow', 5)
      return key
    })
    const runtime = await place.open(hurries)

    expect(await errorOf(runtime.run(hurries))).toMatchObject({
      message: expect.stringContaining('too slow'),
    })
  })

  test('a message beats a slow activity, and the winner is named [sample_select2_activity_vs_external_fs]', async () => {
    const either = workflow('either', async (_: undefined, ctx) =>
      ctx.race({ work: ctx.run(slow), go: ctx.receive(go) }),
    )
    const runtime = await place.open(either)
    const instance = await runtime.start(either)

    await instance.send(go, 'now')

    expect(await instance.result()).toEqual({ key: 'go', value: 'now' })
  })

  test('time and ids of a workflow are plausible [sample_system_activities_fs]', async () => {
    const before = Date.now() - 60_000
    const system = workflow('system', async (_: undefined, ctx) => [ctx.now(), ctx.uuid()] as const)
    const runtime = await place.open(system)

    const [now, id] = await runtime.run(system)

    expect(now.getTime()).toBeGreaterThan(before)
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  test('it is seen running, and then completed [sample_status_polling_fs]', async () => {
    const polled = workflow('polled', async (_: undefined, ctx) => ctx.receive(go))
    const runtime = await place.open(polled)
    const instance = await runtime.start(polled)

    expect((await instance.info())?.status).toBe('running')
    await instance.send(go, 'on')
    await instance.result()
    expect((await instance.info())?.status).toBe('completed')
  })

  test('input and output are structures with types [sample_typed_activity_and_orchestration_fs]', async () => {
    const sums = workflow('sums', async (pair: { a: number; b: number }, ctx) => ({
      sum: await ctx.run(add, pair),
    }))
    const runtime = await place.open(sums)

    expect(await runtime.run(sums, { a: 2, b: 3 })).toEqual({ sum: 5 })
  })

  test('a message has a type [sample_typed_event_fs]', async () => {
    const ack = channel<{ ok: boolean; at: Date }>('ack')
    const acks = workflow('acks', async (_: undefined, ctx) => ctx.receive(ack))
    const runtime = await place.open(acks)
    const instance = await runtime.start(acks)

    await instance.send(ack, { ok: true, at: new Date(7) })

    expect(await instance.result()).toEqual({ ok: true, at: new Date(7) })
  })

  test.each<[string, string | { text: string }]>([
    ['a structure [sample_mixed_string_and_typed_typed_orch_fs]', { text: 'A' }],
    ['a text [sample_mixed_string_and_typed_string_orch_fs]', 'A'],
  ])('typed and plain activities race in a workflow that returns %s', async (_title, expected) => {
    const mixed = workflow(`mixed-${typeof expected}`, async (_: undefined, ctx) => {
      const { key } = await ctx.race({ text: ctx.run(upper, 'a'), slow: ctx.run(slow) })
      const text = await ctx.run(upper, 'a')
      return key === 'text' && typeof expected === 'object' ? { text } : text
    })
    const runtime = await place.open(mixed)

    expect(await runtime.run(mixed)).toEqual(expected)
  })
})

describeSamples('errors', (place) => {
  const helper = async (ctx: WorkflowContext): Promise<string> => ctx.run(fails, 'deep down')

  test('a failure is caught, and a fallback is returned [sample_error_handling_fs]', async () => {
    const recovers = workflow('recovers', async (_: undefined, ctx) => {
      try {
        return await ctx.run(fails, 'broken')
      } catch {
        return ctx.run(hello, 'anyway')
      }
    })
    const runtime = await place.open(recovers)

    expect(await runtime.run(recovers)).toBe('Hello, anyway!')
  })

  test('the error of an activity becomes that of the workflow [sample_basic_error_handling_fs]', async () => {
    const passes = workflow('passes', async (_: undefined, ctx) => ctx.run(fails, 'broken'))
    const runtime = await place.open(passes)

    expect(await errorOf(runtime.run(passes))).toMatchObject({
      message: expect.stringContaining('broken'),
    })
  })

  test('an error propagates through a helper function [sample_nested_function_error_handling_fs]', async () => {
    const nested = workflow('nested', async (_: undefined, ctx) => helper(ctx))
    const runtime = await place.open(nested)

    expect(await errorOf(runtime.run(nested))).toMatchObject({
      message: expect.stringContaining('deep down'),
    })
  })

  test('an error is caught, noted by an activity, and thrown again [sample_error_recovery_fs]', async () => {
    const noted: string[] = []
    const note = activity('note', (text: string) => void noted.push(text))
    const notes = workflow('notes', async (_: undefined, ctx) => {
      try {
        await ctx.run(fails, 'broken')
      } catch (error) {
        await ctx.run(note, 'it failed')
        throw error
      }
    })
    const runtime = await place.open(notes)

    await expect(runtime.run(notes)).rejects.toThrow('broken')
    expect(noted).toEqual(['it failed'])
  })
})

describeSamples('children', (place) => {
  const upperChild = workflow('upper-child', async (text: string, ctx) => ctx.run(upper, text))

  test('a parent returns what its child made of a value [sample_sub_orchestration_basic_fs]', async () => {
    const parent = workflow('basic-parent', async (text: string, ctx) => ctx.run(upperChild, text))
    const runtime = await place.open([parent, upperChild])

    expect(await runtime.run(parent, 'hi')).toBe('HI')
  })

  test('two children run in parallel, and are summed [sample_sub_orchestration_fanout_fs]', async () => {
    const sums = workflow('child-sum', async (pair: { a: number; b: number }, ctx) =>
      ctx.run(add, pair),
    )
    const parent = workflow('fan-parent', async (_: undefined, ctx) => {
      const [a, b] = await ctx.all([ctx.run(sums, { a: 1, b: 2 }), ctx.run(sums, { a: 3, b: 4 })])
      return a + b
    })
    const runtime = await place.open([parent, sums])

    expect(await runtime.run(parent)).toBe(10)
  })

  test('a root calls a middle, which calls a leaf [sample_sub_orchestration_chained_fs]', async () => {
    const middle = workflow(
      'middle',
      async (text: string, ctx) => `${await ctx.run(upperChild, text)}-mid`,
    )
    const root = workflow(
      'root',
      async (text: string, ctx) => `${await ctx.run(middle, text)}-root`,
    )
    const runtime = await place.open([root, middle, upperChild])

    expect(await runtime.run(root, 'a')).toBe('A-mid-root')
  })

  test('an instance that is only started ends by itself [sample_detached_orchestration_scheduling_fs]', async () => {
    const detaches = workflow('detaches', async (_: undefined, ctx) => {
      await ctx.start(upperChild, 'one', { id: 'detached-1' })
      void ctx.start(upperChild, 'two', { id: 'detached-2' })
      return 'scheduled'
    })
    const runtime = await place.open([detaches, upperChild])

    expect(await runtime.run(detaches)).toBe('scheduled')
    expect(await runtime.get('detached-1').result()).toBe('ONE')
    expect(await runtime.get('detached-2').result()).toBe('TWO')
  })

  test('an activity after such a start replays cleanly [sample_detached_then_activity_fs]', async () => {
    const detaches = workflow('detaches-then-runs', async (_: undefined, ctx) => {
      await ctx.start(upperChild, 'x', { id: 'detached-3' })
      const text = await ctx.run(upper, 'before')
      return [text, await ctx.receive(go), await ctx.run(upper, 'after')]
    })
    const first = await place.open([detaches, upperChild])
    await untilItWaitsFor(await first.start(detaches, undefined, { id: 'dta' }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open([detaches, upperChild])

    await second.get('dta').send(go, 'on')

    expect(await second.get('dta').result()).toEqual(['BEFORE', 'on', 'AFTER'])
    expect(await second.get('detached-3').result()).toBe('X')
  })

  test('a cancellation reaches parent and child [sample_cancellation_parent_cascades_to_children_fs]', async () => {
    const child = workflow('waiting-child', async (_: undefined, ctx) => ctx.receive(go))
    const parent = workflow('waiting-parent', async (_: undefined, ctx) =>
      ctx.run(child, undefined, { id: 'cascade-child' }),
    )
    const runtime = await place.open([parent, child])
    const instance = await runtime.start(parent)
    await untilItWaitsFor(runtime.get('cascade-child'), 'channel "go"')

    await instance.cancel('enough')

    await expect(instance.result()).rejects.toThrow(CancelledError)
    await expect(runtime.get('cascade-child').result()).rejects.toThrow(CancelledError)
  })
})

describeSamples('executions and versions', (place) => {
  test('the input is carried on until a condition holds; all executions are kept [sample_continue_as_new_fs]', async () => {
    const rolls = workflow('rolls', async (n: number, ctx): Promise<string> =>
      n < 3 ? ctx.continueAsNew(n + 1) : `done: ${n}`,
    )
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)

    expect(await instance.result()).toBe('done: 3')
    expect((await instance.info())?.execution).toBe(4)
    for (let execution = 1; execution <= 4; execution++) {
      const [started] = await eventsOf(instance, { execution })
      expect(started?.data).toMatchObject({ input: execution - 1 })
    }
  })

  test('the latest version runs unless one is requested [sample_versioning_start_latest_vs_exact_fs]', async () => {
    const one = workflow('versioned', { version: '1.0.0' }, async () => 'v1')
    const two = workflow('versioned', { version: '2.0.0' }, async () => 'v2')
    const runtime = await place.open([one, two])

    expect(await runtime.run(one)).toBe('v2')
    expect(await runtime.run(one, undefined, { version: '1.0.0' })).toBe('v1')
  })

  test('a child has the requested version, or the latest [sample_versioning_sub_orchestration_explicit_vs_policy_fs]', async () => {
    const one = workflow('versioned-child', { version: '1.0.0' }, async () => 'c1')
    const two = workflow('versioned-child', { version: '2.0.0' }, async () => 'c2')
    const parent = workflow('versions-parent', async (_: undefined, ctx) => [
      await ctx.run(one, undefined, { version: '1.0.0' }),
      await ctx.run(one),
    ])
    const runtime = await place.open([parent, one, two])

    expect(await runtime.run(parent)).toEqual(['c1', 'c2'])
  })

  test('the next execution has the next version [sample_versioning_continue_as_new_upgrade_fs]', async () => {
    const one = workflow(
      'upgrades',
      { version: '1.0.0' },
      async (text: string, ctx): Promise<string> => ctx.continueAsNew(`v1:${text}`),
    )
    const two = workflow(
      'upgrades',
      { version: '2.0.0' },
      async (text: string) => `upgraded:${text}`,
    )
    const runtime = await place.open([one, two])

    expect(await runtime.run(one, 'state', { version: '1.0.0' })).toBe('upgraded:v1:state')
  })
})

describeSamples('channels and state', (place) => {
  test('none, one or many updates are applied between cycles, none is lost [sample_config_hot_reload_persistent_events_fs]', async () => {
    const config = channel<number>('config')
    const next = channel<string>('next')
    const reloads = workflow(
      'reloads',
      async (applied: readonly number[], ctx): Promise<readonly number[]> => {
        const all = [...applied]
        for (;;) {
          const update = await ctx.receive(config, { timeout: 0 })
          if (update === undefined) break
          all.push(update)
        }
        ctx.progress(all)
        return (await ctx.receive(next)) === 'end' ? all : ctx.continueAsNew(all)
      },
    )
    const runtime = await place.open(reloads)
    const instance = await runtime.start(reloads, [])

    for (const batch of [[], [1], [2, 3, 4]]) {
      for (const update of batch) await instance.send(config, update)
      await instance.send(next, 'cycle')
    }
    await instance.send(next, 'end')

    expect(await instance.result()).toEqual([1, 2, 3, 4])
  })

  test('requests come by message, replies are in the state [sample_kv_request_response]', async () => {
    const ask = channel<{ id: string; n: number }>('ask')
    const answers = workflow('answers', async (count: number, ctx) => {
      for (let i = 0; i < count; i++) {
        const { id, n } = await ctx.receive(ask)
        ctx.state.set(stateKey<number>(`answer-${id}`), n * n)
      }
    })
    const runtime = await place.open(answers)
    const instance = await runtime.start(answers, 2)

    await instance.send(ask, { id: 'a', n: 3 })
    await instance.send(ask, { id: 'b', n: 4 })
    await instance.result()

    expect(await instance.readState(stateKey<number>('answer-a'))).toBe(9)
    expect(await instance.readState(stateKey<number>('answer-b'))).toBe(16)
  })

  test('one workflow reads the state of another [sample_kv_cross_orchestration_read]', async () => {
    const price = stateKey<number>('price')
    const writes = workflow('writes-price', async (n: number, ctx) => ctx.state.set(price, n))
    const reads = workflow('reads-price', async (id: string, ctx) => ctx.get(id).readState(price))
    const runtime = await place.open([writes, reads])
    await runtime.run(writes, 12, { id: 'priced' })

    expect(await runtime.run(reads, 'priced')).toBe(12)
  })

  test('a counter is read, raised and written in each turn, and replays [sample_kv_read_modify_write_counter]', async () => {
    const counter = stateKey<number>('counter')
    const counts = workflow('counts', async (_: undefined, ctx) => {
      for (let i = 0; i < 3; i++) {
        ctx.state.set(counter, (ctx.state.get(counter) ?? 0) + 1)
        await ctx.receive(go)
      }
      return ctx.state.get(counter)
    })
    const first = await place.open(counts)
    const instance = await first.start(counts, undefined, { id: 'rmw' })
    await instance.send(go, 'one')
    await first.close({ drain: 0 })
    const second = await place.open(counts)
    await second.get('rmw').send(go, 'two')
    await second.get('rmw').send(go, 'three')

    expect(await second.get('rmw').result()).toBe(3)
  })
})
