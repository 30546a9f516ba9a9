/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import { activity, channel, stateKey, workflow, type WorkflowContext } from '../../src/index.ts'
import {
  describeInPlaces,
  errorOf,
  type Place,
  statusOf,
  untilItWaitsFor,
} from '../support/contract.ts'

// What the contract calls the key-value store is the state of an instance. Differences: keys are
// definitions with a type, an empty one is refused, and limits are options of the runtime.

const go = channel<string>('go')
const [a, b, c] = [stateKey<number>('a'), stateKey<number>('b'), stateKey<number>('c')]
const text = stateKey<string>('text')
const echo = activity('echo', (n: number) => n)

type Code = (ctx: WorkflowContext) => Promise<unknown>

/** Runs code as an instance to its end; what it left is read through the answer. */
async function ran(place: Place, name: string, code: Code, options?: Parameters<Place['open']>[1]) {
  const does = workflow(name, async (_: undefined, ctx) => code(ctx))
  const runtime = await place.open(does, options)
  const instance = await runtime.start(does)
  const result = await instance.result().catch((error: unknown) => error)
  return {
    instance,
    result,
    read: instance.readState.bind(instance),
    status: await statusOf(instance),
  }
}

/** All values of an instance, by name: `ctx.state.keys` lists them. */
const all = (ctx: WorkflowContext): Record<string, unknown> =>
  Object.fromEntries(ctx.state.keys().map((key) => [key, ctx.state.get(stateKey(key))]))

describeInPlaces('values of an instance', (place) => {
  test('a value is read from outside [kv_set_value_visible_via_client]', async () => {
    const { read } = await ran(place, 'v-set', async (ctx) => ctx.state.set(a, 1))

    expect(await read(a)).toBe(1)
  })

  test('a key without a value is undefined [kv_get_missing_key_returns_none]', async () => {
    const { result, read } = await ran(
      place,
      'v-missing',
      async (ctx) => ctx.state.get(a) ?? 'none',
    )

    expect(result).toBe('none')
    expect(await read(a)).toBeUndefined()
  })

  test('several values are set in one turn [kv_set_multiple_values_same_turn]', async () => {
    const { read } = await ran(place, 'v-several', async (ctx) => {
      for (const key of [a, b, c]) ctx.state.set(key, key.name.charCodeAt(0))
    })

    expect([await read(a), await read(b), await read(c)]).toEqual([97, 98, 99])
  })

  test('a value is written over [kv_overwrite_same_key]', async () => {
    const { read } = await ran(place, 'v-over', async (ctx) => {
      ctx.state.set(a, 1)
      ctx.state.set(a, 2)
    })

    expect(await read(a)).toBe(2)
  })

  test('one value is deleted [kv_clear_single_value]', async () => {
    const { read } = await ran(place, 'v-delete', async (ctx) => {
      ctx.state.set(a, 1)
      ctx.state.set(b, 2)
      await ctx.sleep(1)
      ctx.state.delete(a)
    })

    expect([await read(a), await read(b)]).toEqual([undefined, 2])
  })

  test('all values are deleted [kv_clear_all_values]', async () => {
    const { read } = await ran(place, 'v-clear', async (ctx) => {
      ctx.state.set(a, 1)
      ctx.state.set(b, 2)
      await ctx.sleep(1)
      ctx.state.clear()
    })

    expect([await read(a), await read(b)]).toEqual([undefined, undefined])
  })

  test('values stay over turns [kv_persists_across_turns]', async () => {
    const { result } = await ran(place, 'v-turns', async (ctx) => {
      ctx.state.set(a, 1)
      await ctx.sleep(1)
      await ctx.run(echo, 1)
      return ctx.state.get(a)
    })

    expect(result).toBe(1)
  })

  test('a value keeps its type [kv_typed_round_trip]', async () => {
    const key = stateKey<{ at: Date; tags: Set<string> }>('typed')
    const value = { at: new Date(3), tags: new Set(['x']) }
    const { read } = await ran(place, 'v-typed', async (ctx) => ctx.state.set(key, value))

    expect(await read(key)).toEqual(value)
  })

  test('code reads what it just set [kv_get_value_reads_local_state]', async () => {
    const { result } = await ran(place, 'v-local', async (ctx) => {
      ctx.state.set(a, 1)
      const first = ctx.state.get(a)
      ctx.state.set(a, 2)
      return [first, ctx.state.get(a)]
    })

    expect(result).toEqual([1, 2])
  })

  test('a value is set in a branch of a race [kv_works_in_select_branch]', async () => {
    const { read } = await ran(place, 'v-race', async (ctx) => {
      await ctx.race({
        quick: async (inner) => {
          await inner.run(echo, 1)
          inner.state.set(a, 1)
        },
        time: ctx.sleep('1h'),
      })
    })

    expect(await read(a)).toBe(1)
  })

  test('values are read after the end [kv_accessible_after_completion]', async () => {
    const { read, status } = await ran(place, 'v-ended', async (ctx) => ctx.state.set(a, 1))

    expect([status, await read(a)]).toEqual(['completed', 1])
  })

  test('values are read after a failure [kv_accessible_after_failure]', async () => {
    const { read, status } = await ran(place, 'v-failed', async (ctx) => {
      ctx.state.set(a, 1)
      throw new Error('failed')
    })

    expect([status, await read(a)]).toEqual(['failed', 1])
  })

  test('a value is changed turn by turn [kv_update_across_turns]', async () => {
    const { read } = await ran(place, 'v-updates', async (ctx) => {
      for (let n = 1; n <= 3; n++) {
        ctx.state.set(a, n)
        await ctx.sleep(1)
      }
    })

    expect(await read(a)).toBe(3)
  })

  test.each([
    ['in a later turn [kv_clear_value_then_reset]', 1],
    ['in the same turn [kv_clear_value_then_set_same_key]', 0],
  ])('a value that was deleted is set again, %s', async (_title, turns) => {
    const { read } = await ran(place, `v-again-${turns}`, async (ctx) => {
      ctx.state.set(a, 1)
      ctx.state.delete(a)
      for (let i = 0; i < turns; i++) await ctx.sleep(1)
      ctx.state.set(a, 2)
    })

    expect(await read(a)).toBe(2)
  })

  test('values stay as set between activities and timers [kv_interleaved_with_activities_and_timers]', async () => {
    const { result } = await ran(place, 'v-between', async (ctx) => {
      ctx.state.set(a, await ctx.run(echo, 1))
      await ctx.sleep(1)
      ctx.state.set(b, (ctx.state.get(a) ?? 0) + (await ctx.run(echo, 10)))
      return all(ctx)
    })

    expect(result).toEqual({ a: 1, b: 11 })
  })

  test('branches that run side by side each set theirs [kv_in_fan_out_fan_in]', async () => {
    const { result } = await ran(place, 'v-fan', async (ctx) => {
      await ctx.map([1, 2, 3], async (n, inner) => {
        inner.state.set(stateKey<number>(`n${n}`), await inner.run(echo, n * n))
      })
      return all(ctx)
    })

    expect(result).toEqual({ n1: 1, n2: 4, n3: 9 })
  })

  test('a value is any structure [kv_json_value]', async () => {
    const key = stateKey<unknown>('any')
    const value = { list: [1, null, { deep: true }], text: '"quoted" \n \u0000' }
    const { read } = await ran(place, 'v-any', async (ctx) => ctx.state.set(key, value))

    expect(await read(key)).toEqual(value)
  })

  test('an empty key is refused [kv_empty_key]', () => {
    expect(() => stateKey('')).toThrow('stateKey: name')
  })

  // A key carries a type, not a check: what was stored comes back.
  test('a value read under another type is what was set [kv_get_value_typed_wrong_type]', async () => {
    const { read } = await ran(place, 'v-wrong', async (ctx) => ctx.state.set(text, 'not a number'))

    expect(await read(stateKey<number>('text'))).toBe('not a number')
  })

  test('values are read while the instance runs [client_get_value_running]', async () => {
    const runs = workflow('v-running', async (_: undefined, ctx) => {
      ctx.state.set(a, 1)
      await ctx.receive(go)
    })
    const runtime = await place.open(runs)
    const instance = await runtime.start(runs)
    await untilItWaitsFor(instance, 'channel "go"')

    expect(await instance.readState(a)).toBe(1)
    expect(await place.connect().get(instance.id).readState(a)).toBe(1)
    await instance.cancel()
    await errorOf(instance.result())
  })

  test.each([
    ['the values themselves [kv_deleted_with_instance]'],
    ['so that they cannot be read [kv_not_accessible_after_deletion]'],
    ['all of them [kv_delete_instance_removes_all_kv]'],
  ])('an instance that is removed takes its state along: %s', async (title) => {
    const id = `v-removed-${title.length}`
    const sets = workflow(id, async (first: boolean, ctx) => {
      if (!first) return
      ctx.state.set(a, 1)
      ctx.state.set(b, 2)
    })
    const runtime = await place.open(sets)
    await runtime.run(sets, true, { id })
    expect(await runtime.get(id).readState(a)).toBe(1)

    await runtime.run(sets, false, { id, onConflict: 'restart' })

    expect(await runtime.get(id).readState(a)).toBeUndefined()
    expect(await runtime.get(id).readState(b)).toBeUndefined()
  })
})

describeInPlaces('limits of state', (place) => {
  const LIMITS = { limits: { stateKeys: 3, stateValueBytes: 50 } }
  const sets = (count: number) => async (ctx: WorkflowContext) => {
    for (let i = 0; i < count; i++) ctx.state.set(stateKey<number>(`k${i}`), i)
  }

  test('one key too many fails the workflow [kv_exceeding_key_limit_fails_orchestration]', async () => {
    const { status, result } = await ran(place, 'l-many', sets(4), LIMITS)

    expect(status).toBe('failed')
    expect(String(result)).toContain('3 keys')
  })

  test('a value too long fails the workflow [kv_exceeding_value_size_limit_fails_orchestration]', async () => {
    const long: Code = async (ctx) => ctx.state.set(text, 'x'.repeat(60))
    const { status, result } = await ran(place, 'l-long', long, LIMITS)

    expect(status).toBe('failed')
    expect(String(result)).toContain('over the limit of 50')
  })

  test('as many keys as the limit pass [kv_at_key_limit_succeeds]', async () => {
    const { status } = await ran(place, 'l-at', sets(3), LIMITS)

    expect(status).toBe('completed')
  })

  test('clear makes room for as many again [kv_clear_all_resets_key_count]', async () => {
    const { status, result } = await ran(
      place,
      'l-clear',
      async (ctx) => {
        await sets(3)(ctx)
        ctx.state.clear()
        for (const key of [a, b, c]) ctx.state.set(key, 1)
        return ctx.state.keys()
      },
      LIMITS,
    )

    expect([status, result]).toEqual(['completed', ['a', 'b', 'c']])
  })
})

describeInPlaces('state over executions', (place) => {
  /** Runs one piece of code per execution, and returns the result of the last. */
  const executions = async (name: string, ...codes: Code[]) => {
    const rolls = workflow(name, async (n: number, ctx): Promise<unknown> => {
      const result = await codes[n]!(ctx)
      return n + 1 < codes.length ? ctx.continueAsNew(n + 1) : result
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    return { result: await instance.result(), read: instance.readState.bind(instance) }
  }
  const set =
    (key: typeof a, value: number): Code =>
    async (ctx) =>
      ctx.state.set(key, value)

  test('values survive continue as new [kv_survives_continue_as_new]', async () => {
    const { result } = await executions('x-survives', set(a, 1), async (ctx) => ctx.state.get(a))

    expect(result).toBe(1)
  })

  test('a later execution writes them over [kv_overwrite_after_can]', async () => {
    const { read } = await executions('x-over', set(a, 1), set(a, 2))

    expect(await read(a)).toBe(2)
  })

  test.each([
    ['deletes them [kv_clear_after_can]', 'x-clear'],
    [
      'deletes one of an earlier execution [kv_clear_single_with_prior_execution_value]',
      'x-clear-one',
    ],
  ])('a later execution %s', async (_title, name) => {
    const { read } = await executions(name, set(a, 1), set(b, 2), async (ctx) =>
      ctx.state.delete(a),
    )

    expect([await read(a), await read(b)]).toEqual([undefined, 2])
  })

  test.each([
    ['values gather over a chain [kv_can_chain_accumulation]', 'x-chain'],
    ['all values are there after a chain [kv_client_get_all_values_across_can]', 'x-chain-all'],
  ])('%s', async (_title, name) => {
    const { result, read } = await executions(name, set(a, 1), set(b, 2), set(c, 3), async (ctx) =>
      all(ctx),
    )

    expect(result).toEqual({ a: 1, b: 2, c: 3 })
    expect([await read(a), await read(b), await read(c)]).toEqual([1, 2, 3])
  })

  test('a value is read and raised in each execution [kv_rmw_across_can_boundary]', async () => {
    const raise: Code = async (ctx) => ctx.state.set(a, (ctx.state.get(a) ?? 0) + 1)
    const { read } = await executions('x-rmw', raise, raise, raise)

    expect(await read(a)).toBe(3)
  })

  test('many executions follow each other quickly [kv_stress_can_throughput]', async () => {
    const raise: Code = async (ctx) => ctx.state.set(a, (ctx.state.get(a) ?? 0) + 1)
    const { read } = await executions('x-many', ...Array.from({ length: 30 }, () => raise))

    expect(await read(a)).toBe(30)
  })

  test('it works where one instance runs at a time [kv_single_thread_can_with_kv]', async () => {
    const rolls = workflow('x-single', async (n: number, ctx): Promise<unknown> => {
      ctx.state.set(a, n)
      return n < 2 ? ctx.continueAsNew(n + 1) : ctx.state.get(a)
    })
    const runtime = await place.open(rolls, { concurrency: { instances: 1, activities: 1 } })

    expect(await runtime.run(rolls, 0)).toBe(2)
  })
})

describeInPlaces('reading, changing, writing', (place) => {
  test.each([
    ['over turns [kv_read_modify_write_across_turns]', 3],
    ['in every turn [kv_read_modify_write_every_turn]', 10],
  ])('a counter is raised %s', async (_title, count) => {
    const { result } = await ran(place, `r-${count}`, async (ctx) => {
      for (let i = 0; i < count; i++) {
        ctx.state.set(a, (ctx.state.get(a) ?? 0) + 1)
        await ctx.run(echo, i)
      }
      return ctx.state.get(a)
    })

    expect(result).toBe(count)
  })

  test('all is cleared, then set anew in a later turn [kv_clear_all_then_set_across_turns]', async () => {
    const { result } = await ran(place, 'r-clear', async (ctx) => {
      ctx.state.set(a, 1)
      await ctx.sleep(1)
      ctx.state.clear()
      await ctx.sleep(1)
      ctx.state.set(b, 2)
      return all(ctx)
    })

    expect(result).toEqual({ b: 2 })
  })

  test('it works where one instance runs at a time [kv_single_thread_basic]', async () => {
    const one = { concurrency: { instances: 1, activities: 1 } }
    const { read } = await ran(place, 'r-single', async (ctx) => ctx.state.set(a, 1), one)

    expect(await read(a)).toBe(1)
  })

  test('many instances write at once [kv_stress_concurrent_writes]', async () => {
    const writes = workflow('r-many', async (n: number, ctx) => {
      for (let i = 0; i < 5; i++) {
        ctx.state.set(a, n * 10 + i)
        await ctx.run(echo, i)
      }
    })
    const runtime = await place.open(writes)
    const instances = await Promise.all(
      Array.from({ length: 20 }, (_item, n) => runtime.start(writes, n)),
    )
    await Promise.all(instances.map((instance) => instance.result()))

    const values = await Promise.all(instances.map((instance) => instance.readState(a)))
    expect(values).toEqual(Array.from({ length: 20 }, (_item, n) => n * 10 + 4))
  })

  test('an instance may have many keys [kv_stress_high_key_count]', async () => {
    const { result } = await ran(place, 'r-keys', async (ctx) => {
      for (let i = 0; i < 200; i++) ctx.state.set(stateKey<number>(`k${i}`), i)
      await ctx.sleep(1)
      return ctx.state.keys().length
    })

    expect(result).toBe(200)
  })

  test.each<[string, Code, Record<string, unknown>]>([
    [
      'all of them [kv_client_get_all_values]',
      async (ctx) => {
        ctx.state.set(a, 1)
        ctx.state.set(b, 2)
      },
      { a: 1, b: 2 },
    ],
    ['none [kv_client_get_all_values_empty]', async () => {}, {}],
    [
      'the last of each [kv_client_get_all_values_after_overwrite]',
      async (ctx) => {
        ctx.state.set(a, 1)
        ctx.state.set(a, 2)
      },
      { a: 2 },
    ],
    [
      'what is left [kv_client_get_all_values_after_clear]',
      async (ctx) => {
        ctx.state.set(a, 1)
        ctx.state.clear()
        ctx.state.set(b, 2)
      },
      { b: 2 },
    ],
  ])('the names and values an instance has: %s', async (title, code, expected) => {
    const { result, read } = await ran(place, `r-all-${title.length}`, async (ctx) => {
      await code(ctx)
      await ctx.sleep(1)
      return all(ctx)
    })

    expect(result).toEqual(expected)
    for (const key of [a, b]) expect(await read(key)).toBe(expected[key.name])
  })
})

describeInPlaces('pruning by age', (place) => {
  test('values that were set longer ago are deleted [kv_prune_old_values_by_timestamp]', async () => {
    const { result, read } = await ran(place, 'a-old', async (ctx) => {
      ctx.state.set(a, 1)
      ctx.state.set(b, 2)
      await ctx.sleep(20)
      return ctx.state.prune(10)
    })

    expect([result, await read(a), await read(b)]).toEqual([2, undefined, undefined])
  })

  test('only old values are deleted [kv_prune_selective_by_age]', async () => {
    const { result } = await ran(place, 'a-some', async (ctx) => {
      ctx.state.set(a, 1)
      await ctx.sleep(20)
      ctx.state.set(b, 2)
      return [ctx.state.prune(10), all(ctx)]
    })

    expect(result).toEqual([1, { b: 2 }])
  })

  // Here the argument is an age; what the contract calls a threshold of 0 is the greatest age.
  test('nothing is old enough for a great age [kv_prune_with_zero_threshold_does_nothing]', async () => {
    const { result } = await ran(place, 'a-none', async (ctx) => {
      ctx.state.set(a, 1)
      await ctx.sleep(2)
      return [ctx.state.prune('1h'), all(ctx)]
    })

    expect(result).toEqual([0, { a: 1 }])
  })

  test('where there is nothing, nothing is deleted [kv_prune_empty_returns_zero]', async () => {
    const { result } = await ran(place, 'a-empty', async (ctx) => ctx.state.prune(0))

    expect(result).toBe(0)
  })

  test.each([
    ['whatever the age [kv_prune_current_turn_keys_with_max_threshold]', 0],
    ['by the time of the turn [kv_prune_unpersisted_current_turn_key_with_wall_clock]', 1],
  ])('values that were set in this turn stay, %s', async (_title, age) => {
    const { result } = await ran(place, `a-turn-${age}`, async (ctx) => {
      ctx.state.set(a, 1)
      return [ctx.state.prune(age), all(ctx)]
    })

    expect(result).toEqual([0, { a: 1 }])
  })
})

describeInPlaces('state of others', (place) => {
  const sets = workflow('o-sets', async (n: number, ctx) => ctx.state.set(a, n))
  const reads = workflow('o-reads', async (id: string, ctx) => ctx.get(id).readState(a))

  test('another instance is read [kv_get_value_from_instance]', async () => {
    const runtime = await place.open([sets, reads])
    await runtime.run(sets, 5, { id: 'o-1' })

    expect(await runtime.run(reads, 'o-1')).toBe(5)
  })

  test('a key it does not have is undefined [kv_get_value_from_instance_key_missing]', async () => {
    const other = workflow('o-other-key', async (id: string, ctx) => ctx.get(id).readState(b))
    const runtime = await place.open([sets, other])
    await runtime.run(sets, 5, { id: 'o-2' })

    expect(await runtime.run(other, 'o-2')).toBeUndefined()
  })

  test('an instance that does not exist has no values [kv_get_value_from_instance_unknown_instance]', async () => {
    const runtime = await place.open(reads)

    expect(await runtime.run(reads, 'o-nobody')).toBeUndefined()
  })

  test('a typed value comes as it was set [kv_get_value_from_instance_typed_e2e]', async () => {
    const key = stateKey<Map<string, Date>>('map')
    const value = new Map([['x', new Date(1)]])
    const writes = workflow('o-typed', async (_: undefined, ctx) => ctx.state.set(key, value))
    const looks = workflow('o-looks', async (id: string, ctx) => ctx.get(id).readState(key))
    const runtime = await place.open([writes, looks])
    await runtime.run(writes, undefined, { id: 'o-3' })

    expect(await runtime.run(looks, 'o-3')).toEqual(value)
  })

  test('a value that was read is the same on replay [kv_get_value_from_instance_replay_safe]', async () => {
    const next = channel<number>('next')
    const changes = workflow('o-changes', async (_: undefined, ctx) => {
      ctx.state.set(a, 1)
      ctx.state.set(a, await ctx.receive(next))
      await ctx.receive(next)
    })
    const looks = workflow('o-looks-once', async (id: string, ctx) => {
      const seen = await ctx.get(id).readState(a)
      await ctx.receive(go)
      return seen
    })
    const first = await place.open([changes, looks])
    const source = await first.start(changes, undefined, { id: 'o-4' })
    await untilItWaitsFor(source, 'channel "next"')
    await untilItWaitsFor(await first.start(looks, 'o-4', { id: 'o-5' }), 'channel "go"')
    await source.send(next, 2)
    await first.close({ drain: 0 })
    const second = await place.open([changes, looks])
    await second.get('o-5').send(go, 'on')

    expect(await second.get('o-5').result()).toBe(1)
    await second.get('o-4').terminate()
  })

  test('a later look sees the later value [kv_get_value_from_instance_after_source_update]', async () => {
    const twice = workflow('o-twice', async (id: string, ctx) => {
      const first = await ctx.get(id).readState(a)
      await ctx.get(id).send(go, 'on')
      ctx.progress(first)
      await ctx.receive(go)
      return [first, await ctx.get(id).readState(a)]
    })
    const changes = workflow('o-changes-once', async (_: undefined, ctx) => {
      ctx.state.set(a, 1)
      await ctx.receive(go)
      ctx.state.set(a, 2)
    })
    const runtime = await place.open([twice, changes])
    const source = await runtime.start(changes, undefined, { id: 'o-6' })
    await untilItWaitsFor(source, 'channel "go"')
    const instance = await runtime.start(twice, 'o-6')
    await source.result()
    await instance.send(go, 'look again')

    expect(await instance.result()).toEqual([1, 2])
  })

  test('parent and child have state of their own [kv_parent_child_isolation]', async () => {
    const parent = workflow('o-parent', async (_: undefined, ctx) => {
      ctx.state.set(a, 1)
      const child = ctx.run(sets, 2)
      await child
      return [ctx.state.get(a), await child.readState(a)]
    })
    const runtime = await place.open([parent, sets])

    expect(await runtime.run(parent)).toEqual([1, 2])
  })

  test('pruning executions removes no value [kv_prune_execution_removes_orphan_keys] [kv_bulk_prune]', async () => {
    const grows = workflow('o-grows', async (n: number, ctx): Promise<unknown> => {
      ctx.state.set([a, b, c][n]!, n)
      return n < 2 ? ctx.continueAsNew(n + 1) : all(ctx)
    })
    const runtime = await place.open(grows)
    const instances = await Promise.all(['o-8', 'o-9'].map((id) => runtime.start(grows, 0, { id })))
    for (const instance of instances) {
      expect(await instance.result()).toEqual({ a: 0, b: 1, c: 2 })
    }

    expect(await runtime.admin.prune({ which: ['o-8', 'o-9'] })).toBe(4)

    for (const instance of instances) {
      const values = await Promise.all([a, b, c].map((key) => instance.readState(key)))
      expect(values).toEqual([0, 1, 2])
    }
  })

  test('a child is deleted with its parent, and its values too [kv_delete_parent_cascades_child_kv]', async () => {
    const parent = workflow('o-parent-of-one', async (_: undefined, ctx) => {
      await ctx.run(sets, 2, { id: 'o-10-child' })
    })
    const runtime = await place.open([parent, sets])
    await runtime.run(parent, undefined, { id: 'o-10' })
    expect(await runtime.get('o-10-child').readState(a)).toBe(2)

    expect(await runtime.admin.delete(['o-10'])).toBe(2)

    expect(await errorOf(runtime.get('o-10-child').readState(a))).toMatchObject({
      name: 'NotFoundError',
    })
  })

  test('an instance may read itself from outside [kv_get_value_from_instance_self]', async () => {
    const { result } = await ran(place, 'o-self', async (ctx) => {
      ctx.state.set(a, 1)
      await ctx.sleep(1)
      return ctx.get(ctx.info.id).readState(a)
    })

    expect(result).toBe(1)
  })

  test('many read one at once [kv_stress_cross_instance_reads]', async () => {
    const runtime = await place.open([sets, reads])
    await runtime.run(sets, 9, { id: 'o-7' })

    const seen = await Promise.all(Array.from({ length: 20 }, () => runtime.run(reads, 'o-7')))

    expect(new Set(seen)).toEqual(new Set([9]))
  })
})
