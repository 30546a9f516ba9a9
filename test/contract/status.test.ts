import { expect, test } from 'vitest'

import { activity, channel, workflow } from '../../src/index.ts'
import { describeInPlaces, errorOf, ONCE, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { eventsOf, typesOf } from '../support/histories.ts'

const go = channel<string>('go')
const echo = activity('echo', (value: string) => value)
const quick = workflow('st-quick', async (text: string, ctx) => ctx.run(echo, text))
const waits = workflow('st-waits', async (_: undefined, ctx) => ctx.receive(go))
const fails = workflow('st-fails', async (): Promise<string> => {
  throw new Error('broken')
})
const rolls = workflow('st-rolls', async (n: number, ctx): Promise<number> => {
  ctx.progress(n)
  return n < 2 ? ctx.continueAsNew(n + 1) : n
})

describeInPlaces('status', (place) => {
  test('an instance that does not exist has none [test_status_not_found]', async () => {
    const runtime = await place.open(quick)

    expect(await runtime.get('st-nobody').info()).toBeUndefined()
  })

  test('one that waits is running [test_status_running]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)

    expect((await instance.info())?.status).toBe('running')
    await instance.terminate()
  })

  test('one that returned is completed [test_status_completed]', async () => {
    const runtime = await place.open(quick)
    const instance = await runtime.start(quick, 'x')

    expect(await statusOf(instance)).toBe('completed')
    expect(await instance.result()).toBe('x')
  })

  test('one that threw is failed, and says why [test_status_failed]', async () => {
    const runtime = await place.open(fails)
    const instance = await runtime.start(fails)

    expect(await statusOf(instance)).toBe('failed')
    expect((await instance.info())?.error?.message).toContain('broken')
  })

  test('one that continued as new is in its latest execution [test_status_after_continue_as_new]', async () => {
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)

    expect(await statusOf(instance)).toBe('completed')
    expect((await instance.info())?.execution).toBe(3)
  })

  test('one that was cancelled says so [test_status_cancelled]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)
    await instance.cancel('enough')

    expect(await statusOf(instance)).toBe('cancelled')
    expect((await instance.info())?.error?.message).toContain('enough')
  })

  test('statuses follow in order [test_status_lifecycle_transitions]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits, undefined, { delay: 400 })
    const seen: string[] = []
    for await (const { status } of instance.watch()) {
      seen.push(status)
      if (status === 'running') await instance.send(go, 'on')
    }

    expect([...new Set(seen)]).toEqual(['scheduled', 'running', 'completed'])
  })

  test('instances have a status each [test_status_independence]', async () => {
    const runtime = await place.open([quick, fails, waits])
    const instances = [
      await runtime.start(quick, 'x'),
      await runtime.start(fails),
      await runtime.start(waits),
    ]
    await instances[2]!.cancel()

    const all = await Promise.all(instances.map((instance) => statusOf(instance)))

    expect(all).toEqual(['completed', 'failed', 'cancelled'])
  })

  test('a client sees what a runtime does [orchestration_status_apis]', async () => {
    const runtime = await place.open(quick)
    const { id } = await runtime.start(quick, 'x')

    expect(await place.connect().get(id).result()).toBe('x')
    expect((await place.connect().get(id).info())?.status).toBe('completed')
  })
})

describeInPlaces('looking at instances', (place) => {
  test('an instance describes itself [test_instance_info]', async () => {
    const runtime = await place.open(quick)
    const instance = await runtime.start(quick, 'x', { id: 'm-1', labels: { team: 'a' } })
    await instance.result()

    const info = (await instance.info())!

    expect(info).toMatchObject({
      id: 'm-1',
      workflow: 'st-quick',
      version: '1.0.0',
      status: 'completed',
      execution: 1,
      labels: { team: 'a' },
      waitingFor: [],
    })
    expect(info.finishedAt!.getTime()).toBeGreaterThanOrEqual(info.createdAt.getTime())
  })

  test.each([
    ['each by number [test_multi_execution_support]'],
    ['with what happened in it [test_execution_info]'],
    ['and no other [test_management_read_execution_specific]'],
    ['in the store [providers_fs_multi_execution_persistence_and_latest_read]'],
    ['in memory [providers_inmem_multi_execution_persistence_and_latest_read]'],
  ])('executions are read, %s', async () => {
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await instance.result()

    for (const execution of [1, 2, 3]) {
      const events = await eventsOf(instance, { execution })
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
      expect(events[0]?.data).toMatchObject({ input: execution - 1 })
      expect(events.find(({ type }) => type === 'progress')?.data).toEqual({ value: execution - 1 })
    }
    expect(await eventsOf(instance)).toEqual(await eventsOf(instance, { execution: 3 }))
  })

  test('the output of an execution that continues is the input of the next [test_execution_output_captured_on_continue_as_new]', async () => {
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await instance.result()

    const first = await eventsOf(instance, { execution: 1 })
    const second = await eventsOf(instance, { execution: 2 })
    expect(first.at(-1)?.data).toEqual({ status: 'continued' })
    expect(second[0]?.data).toMatchObject({ input: 1 })
  })

  test.each([
    ['with steps and children [test_complex_workflow_management]'],
    ['while it runs [test_management_features_with_workflow]'],
  ])('an instance is read %s', async (title) => {
    const id = `m-complex-${title.length}`
    const complex = workflow(id, async (_: undefined, ctx) => {
      await ctx.run(echo, 'x')
      await ctx.run(quick, 'y')
      return ctx.receive(go)
    })
    const runtime = await place.open([complex, quick])
    const instance = await runtime.start(complex, undefined, { id })
    await untilItWaitsFor(instance, 'channel "go"')

    expect(await typesOf(instance)).toEqual([
      'started',
      'activity',
      'completed',
      'child',
      'completed',
      'receive',
    ])
    await instance.send(go, 'on')
    expect(await instance.result()).toBe('on')
  })

  test('what does not exist is undefined, or an error that names it [test_management_unknown_instance_errors]', async () => {
    const runtime = await place.open(quick)
    const nobody = runtime.get('m-nobody')

    expect(await nobody.info()).toBeUndefined()
    for (const verb of ['terminate', 'suspend', 'cancel'] as const) {
      await expect(nobody[verb]()).rejects.toThrow('m-nobody')
    }
  })

  test('every status is seen [test_management_all_status_types]', async () => {
    const runtime = await place.open([quick, fails, waits])
    const of = {
      completed: await runtime.start(quick, 'x'),
      failed: await runtime.start(fails),
      cancelled: await runtime.start(waits),
      terminated: await runtime.start(waits),
      suspended: await runtime.start(waits),
      running: await runtime.start(waits),
      scheduled: await runtime.start(waits, undefined, { delay: '1h' }),
    }
    await of.cancelled.cancel()
    await of.terminated.terminate()
    await of.suspended.suspend()
    for (const ended of [of.completed, of.failed, of.cancelled]) await statusOf(ended)

    for (const [status, instance] of Object.entries(of)) {
      expect((await instance.info())?.status).toBe(status)
    }
    for (const left of [of.suspended, of.running, of.scheduled]) await left.terminate()
  })

  test.each([
    ['its parent [test_get_parent_id_primitive]'],
    ['the root and the child [orchestration_descriptor_root_and_child]'],
  ])('an instance names %s', async (title) => {
    const id = `m-family-${title.length}`
    const parent = workflow(id, async (_: undefined, ctx) =>
      ctx.run(quick, 'x', { id: `${id}-child` }),
    )
    const runtime = await place.open([parent, quick])
    await runtime.run(parent, undefined, { id })

    expect((await runtime.get(`${id}-child`).info())?.parentId).toBe(id)
    expect((await runtime.get(id).info())?.parentId).toBeUndefined()
  })
})

describeInPlaces('ids that are used again', (place) => {
  test('an id is free again once its instance is removed [test_identity_reuse_after_delete]', async () => {
    const runtime = await place.open(quick)
    await runtime.run(quick, 'first', { id: 'd-1' })

    expect(await runtime.run(quick, 'second', { id: 'd-1', onConflict: 'restart' })).toBe('second')
    expect((await eventsOf(runtime.get('d-1')))[0]?.data).toMatchObject({ input: 'second' })
  })

  test('one that is in the middle of something is ended and removed [test_force_delete_in_flight_work]', async () => {
    const runtime = await place.open(waits)
    const old = await runtime.start(waits, undefined, { id: 'd-2' })
    const lost = errorOf(old.result())

    const anew = await runtime.start(waits, undefined, { id: 'd-2', onConflict: 'restart' })
    await anew.send(go, 'anew')

    expect(await anew.result()).toBe('anew')
    expect((await lost).message).toMatch(/terminated|removed/)
  })

  test('other instances continue undisturbed [test_dispatcher_resilience_after_delete]', async () => {
    const runtime = await place.open([waits, quick])
    const other = await runtime.start(waits)
    await runtime.start(waits, undefined, { id: 'd-3' })
    await (await runtime.start(waits, undefined, { id: 'd-3', onConflict: 'restart' })).terminate()
    await other.send(go, 'still here')

    expect(await other.result()).toBe('still here')
    expect(await runtime.run(quick, 'x')).toBe('x')
  })

  test('what is refused is an error with the id [test_delete_error_cases]', async () => {
    const runtime = await place.open([quick, waits])
    await runtime.run(quick, 'x', { id: 'd-4' })

    await expect(runtime.start(quick, 'x', { id: 'd-4', onConflict: 'error' })).rejects.toThrow(
      'd-4',
    )
    await expect(runtime.start(waits, undefined, { id: 'd-4' })).rejects.toThrow('d-4')
  })

  test('starts that race leave one instance [runtime_duplicate_orchestration_deduped_single_execution]', async () => {
    const runtime = await place.open(quick)
    const starts = await Promise.all(
      ['a', 'a', 'a', 'a'].map((text) => runtime.start(quick, text, { id: 'd-5' })),
    )
    await Promise.all(starts.map((instance) => instance.result()))

    expect((await typesOf(runtime.get('d-5'))).filter((type) => type === 'started')).toHaveLength(1)
    expect((await runtime.get('d-5').info())?.execution).toBe(1)
  })
})

describeInPlaces('laws of a history', (place) => {
  const failing = activity('h-failing', ONCE, (): string => {
    throw new Error('no')
  })
  const busy = workflow('h-busy', async (count: number, ctx) => {
    await ctx.all(Array.from({ length: count }, (_item, i) => ctx.run(echo, `${i}`)))
    await ctx.run(failing).catch(() => {})
    await ctx.sleep(1)
    return count
  })
  const historyOf = async (count: number) => {
    const runtime = await place.open(busy)
    const instance = await runtime.start(busy, count)
    await instance.result()
    return eventsOf(instance)
  }
  const COUNTS = [0, 1, 7]

  test('numbers of events grow by one [prop_event_ids_monotonic]', async () => {
    for (const count of COUNTS) {
      const events = await historyOf(count)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    }
  })

  test('there is one end, and it is the last [prop_single_terminal_state]', async () => {
    for (const count of COUNTS) {
      const types = (await historyOf(count)).map(({ type }) => type)
      expect(types.indexOf('ended')).toBe(types.length - 1)
    }
  })

  test('each call ends once [prop_activity_lifecycle]', async () => {
    for (const count of COUNTS) {
      const events = await historyOf(count)
      const commands = (types: string[]) =>
        events
          .filter(({ type }) => types.includes(type))
          .map(({ data }) => (data as { command: number }).command)
          .toSorted((a, b) => a - b)
      expect(commands(['completed', 'failed', 'fired'])).toEqual(commands(['activity', 'timer']))
    }
  })

  test('there are two events for each call, and two more [prop_history_event_count_bounds]', async () => {
    for (const count of COUNTS) {
      expect(await historyOf(count)).toHaveLength(2 * (count + 2) + 2)
    }
  })

  test('the same past gives the same decisions [deterministic_replay_activity_only]', async () => {
    const seen: string[] = []
    const decides = workflow('h-decides', async (_: undefined, ctx) => {
      seen.push(await ctx.run(echo, 'a'), await ctx.run(echo, 'b'))
      return ctx.receive(go)
    })
    const first = await place.open(decides)
    await untilItWaitsFor(await first.start(decides, undefined, { id: 'h-1' }), 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open(decides)
    await second.get('h-1').send(go, 'on')
    await second.get('h-1').result()

    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })

  test('log lines of a workflow are written once, at their level [orchestration_tracing_emits_all_levels]', async () => {
    const logs = workflow('h-logs', async (_: undefined, ctx) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const)
        ctx.log[level]({}, `wf ${level}`)
      await ctx.sleep(1)
    })
    const runtime = await place.open(logs)
    await runtime.run(logs)

    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      expect(place.log.at(level).filter((line) => line.startsWith('wf '))).toEqual([`wf ${level}`])
    }
  })

  test('so are those of an activity [activity_tracing_emits_all_levels]', async () => {
    const logging = activity('h-logging', (_: undefined, { log }) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const)
        log[level]({}, `act ${level}`)
    })
    const logs = workflow('h-logs-activity', async (_: undefined, ctx) => ctx.run(logging))
    const runtime = await place.open(logs)
    await runtime.run(logs)

    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      expect(place.log.at(level).filter((line) => line.startsWith('act '))).toEqual([
        `act ${level}`,
      ])
    }
  })
})
