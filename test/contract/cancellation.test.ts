/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { expect, test } from 'vitest'

import { activity, CancelledError, channel, type Instance, workflow } from '../../src/index.ts'
import { describeInPlaces, errorOf, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { deferred, eventually } from '../support/engine.ts'
import { eventsOf, typesOf } from '../support/histories.ts'

// Differences: the status is `cancelled`, not failed; clean-up runs; messages wait for a receive
// and are never matched by position; cancelling an instance that does not exist is an error.

const [go, other] = [channel<string>('go'), channel<string>('other')]
const waits = workflow('cancel-waits', async (_: undefined, ctx) => ctx.receive(go))

/** An activity that says when it begins, and with what its signal aborts. */
function held(name: string) {
  const begun = deferred()
  const aborted = deferred<string>()
  const definition = activity(name, async (_: undefined, ctx) => {
    begun.resolve()
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    aborted.resolve((ctx.signal.reason as Error).name)
    return 'late'
  })
  return { definition, begun: begun.promise, aborted: aborted.promise }
}

describeInPlaces('cancelling an instance', (place) => {
  test('the child of a cancelled parent is cancelled [cancel_parent_down_propagates_to_child]', async () => {
    const parent = workflow('down', async (_: undefined, ctx) =>
      ctx.run(waits, undefined, { id: 'down-child' }),
    )
    const runtime = await place.open([parent, waits])
    const instance = await runtime.start(parent)
    await untilItWaitsFor(runtime.get('down-child'), 'channel "go"')

    await instance.cancel('by hand')

    expect(await statusOf(instance)).toBe('cancelled')
    expect(await statusOf(runtime.get('down-child'))).toBe('cancelled')
  })

  test('all children of a cancelled parent are cancelled [cancel_parent_with_multiple_children]', async () => {
    const ids = ['many-1', 'many-2', 'many-3']
    const parent = workflow('down-many', async (_: undefined, ctx) =>
      ctx.all(ids.map((id) => ctx.run(waits, undefined, { id }))),
    )
    const runtime = await place.open([parent, waits])
    const instance = await runtime.start(parent)
    for (const id of ids) await untilItWaitsFor(runtime.get(id), 'channel "go"')

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    for (const id of ids) expect(await statusOf(runtime.get(id))).toBe('cancelled')
  })

  test('what has ended is left alone [cancel_after_completion_is_noop]', async () => {
    const quick = workflow('quick-end', async () => 'done')
    const runtime = await place.open(quick)
    const instance = await runtime.start(quick)
    await instance.result()

    await instance.cancel('too late')

    expect(await instance.result()).toBe('done')
    expect((await instance.info())?.status).toBe('completed')
  })

  test('a child that is cancelled directly is an error to its parent [cancel_child_directly_signals_parent]', async () => {
    const parent = workflow('up', async (_: undefined, ctx) => {
      const error = await errorOf(ctx.run(waits, undefined, { id: 'up-child' }))
      return error instanceof CancelledError ? error.reason : String(error)
    })
    const runtime = await place.open([parent, waits])
    const instance = await runtime.start(parent)
    await untilItWaitsFor(runtime.get('up-child'), 'channel "go"')

    await runtime.get('up-child').cancel('the child alone')

    expect(await instance.result()).toContain('the child alone')
  })

  test('a later execution is cancelled like the first [cancel_continue_as_new_second_exec]', async () => {
    const rolls = workflow('rolls-then-waits', async (n: number, ctx): Promise<string> =>
      n === 0 ? ctx.continueAsNew(1) : ctx.receive(go),
    )
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await untilItWaitsFor(instance, 'channel "go"')

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    expect((await instance.info())?.execution).toBe(2)
  })

  test('an instance that does not exist is an error to the caller [cancel_nonexistent_instance_is_noop]', async () => {
    const runtime = await place.open(waits)

    await expect(runtime.get('nobody').cancel()).rejects.toThrow('nobody')
    expect(await runtime.get('nobody').info()).toBeUndefined()
  })

  test('the first of several cancellations counts [multiple_cancel_calls_are_idempotent]', async () => {
    const runtime = await place.open(waits)
    const instance = await runtime.start(waits)

    for (const reason of ['first', 'second', 'third']) await instance.cancel(reason)

    expect(await errorOf(instance.result())).toMatchObject({ reason: 'first' })
    const events = await eventsOf(instance)
    expect(events.filter(({ type }) => type === 'cancelled')).toHaveLength(1)
  })

  test('an instance is cancelled before its first turn [cancel_before_orchestration_starts]', async () => {
    const client = place.connect()
    const instance = await client.start(waits, undefined, { delay: '1h' })

    await instance.cancel('never mind')
    await place.open(waits)

    expect(await errorOf(instance.result())).toMatchObject({ reason: 'never mind' })
    expect((await instance.info())?.status).toBe('cancelled')
  })
})

describeInPlaces('activities of what has ended', (place) => {
  test('a workflow returns before its activity does [orchestration_completes_before_activity_finishes]', async () => {
    const { definition, begun, aborted } = held('held-by-return')
    const returns = workflow('returns-early', async (_: undefined, ctx) => {
      void ctx.run(definition).catch(() => {})
      await ctx.receive(go)
      return 'returned'
    })
    const runtime = await place.open(returns)
    const instance = await runtime.start(returns)
    await begun

    await instance.send(go, 'on')

    expect(await instance.result()).toBe('returned')
    expect(await aborted).toBe('CancelledError')
    expect((await typesOf(instance)).slice(-2)).toEqual(['dropped', 'ended'])
  })

  test('a workflow fails before its activity ends [orchestration_fails_before_activity_finishes]', async () => {
    const { definition, begun, aborted } = held('held-by-failure')
    const throws = workflow('throws-early', async (_: undefined, ctx) => {
      void ctx.run(definition).catch(() => {})
      await ctx.receive(go)
      throw new Error('early')
    })
    const runtime = await place.open(throws)
    const instance = await runtime.start(throws)
    await begun

    await instance.send(go, 'on')

    await expect(instance.result()).rejects.toThrow('early')
    expect(await aborted).toBe('CancelledError')
  })

  test('an activity learns that its instance was cancelled [activity_receives_cancellation_signal]', async () => {
    const { definition, begun, aborted } = held('held-by-cancel')
    const runs = workflow('runs-held', async (_: undefined, ctx) => ctx.run(definition))
    const runtime = await place.open(runs)
    const instance = await runtime.start(runs)
    await begun

    await instance.cancel()

    expect(await aborted).toBe('CancelledError')
    expect(await statusOf(instance)).toBe('cancelled')
  })

  test('the loser of a race sees its signal abort [select2_loser_activity_receives_cancellation_signal]', async () => {
    const { definition, begun, aborted } = held('held-by-race')
    const races = workflow('races-held', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ work: ctx.run(definition), go: ctx.receive(go) })
      return key
    })
    const runtime = await place.open(races)
    const instance = await runtime.start(races)
    await begun

    await instance.send(go, 'now')

    expect(await instance.result()).toBe('go')
    expect(await aborted).toBe('CancelledError')
  })

  test('a result that an activity returns after that is dropped [activity_result_dropped_when_orchestration_cancelled]', async () => {
    const { definition, begun, aborted } = held('held-result')
    const runs = workflow('runs-held-result', async (_: undefined, ctx) => ctx.run(definition))
    const runtime = await place.open(runs)
    const instance = await runtime.start(runs)
    await begun

    await instance.cancel()
    await aborted

    expect(await statusOf(instance)).toBe('cancelled')
    expect(await typesOf(instance)).not.toContain('completed')
  })

  test('an activity that still waits for a slot never starts [activity_skipped_when_orchestration_terminal_at_fetch]', async () => {
    const { definition, begun } = held('held-in-front')
    let ran = false
    const behind = activity('behind', () => {
      ran = true
    })
    const both = workflow('both-held', async (_: undefined, ctx) =>
      ctx.all([ctx.run(definition), ctx.run(behind)]),
    )
    const runtime = await place.open(both, { concurrency: { activities: 1 } })
    const instance = await runtime.start(both)
    await begun

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    expect(ran).toBe(false)
  })

  // The contract aborts its task after a grace period; JavaScript cannot, so nothing waits for it.
  test('an activity that ignores its signal delays nothing else [activity_aborted_after_cancellation_grace]', async () => {
    const begun = deferred()
    const ends = deferred()
    const deaf = activity('deaf', async () => {
      begun.resolve()
      await ends.promise
    })
    const runs = workflow('runs-deaf', async (_: undefined, ctx) => ctx.run(deaf))
    const runtime = await place.open(runs)
    const instance = await runtime.start(runs)
    await begun.promise

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    ends.resolve()
  })

  test.each([
    ['by its own cancel() [explicit_drop_activity_triggers_cancellation]', 'explicit'],
    ['when its scope is over [activity_out_of_scope_triggers_cancellation]', 'scope'],
  ])('an activity is cancelled %s', async (_title, how) => {
    const { definition, begun, aborted } = held(`held-${how}`)
    const drops = workflow(`drops-${how}`, async (_: undefined, ctx) => {
      if (how === 'explicit') {
        const dropped = ctx.run(definition)
        dropped.catch(() => {})
        await ctx.receive(go)
        dropped.cancel()
      } else {
        await ctx.scope(async (inner) => {
          inner.run(definition).catch(() => {})
          await inner.receive(go)
        })
      }
      return ctx.receive(other)
    })
    const runtime = await place.open(drops)
    const instance = await runtime.start(drops)
    await begun
    await instance.send(go, 'drop it')

    expect(await aborted).toBe('CancelledError')
    expect((await instance.info())?.status).toBe('running')
    await instance.send(other, 'end')
    expect(await instance.result()).toBe('end')
  })
})

describeInPlaces('children that are no longer needed', (place) => {
  test.each<[string, string | undefined]>([
    ['under the id it was given by itself [select2_loser_sub_orchestration_cancelled]', undefined],
    ['under an id of its own [select2_loser_sub_orchestration_explicit_id_cancelled]', 'loser-id'],
  ])('the child that lost a race is cancelled, %s', async (_title, id) => {
    const races = workflow(`races-child-${id}`, async (_: undefined, ctx) => {
      const child = ctx.run(waits, undefined, id === undefined ? {} : { id })
      ctx.progress(child.id)
      const { key } = await ctx.race({ child, other: ctx.receive(other) })
      return key
    })
    const runtime = await place.open([races, waits])
    const instance = await runtime.start(races)
    const child = runtime.get(
      await eventually(async () => (await instance.info())?.progress as string),
    )
    await untilItWaitsFor(child, 'channel "go"')

    await instance.send(other, 'wins')

    expect(await instance.result()).toBe('other')
    expect(child.id).toMatch(id ?? /\/1\.1\.[0-9a-f]{6}$/)
    expect(await statusOf(child)).toBe('cancelled')
  })

  /** Starts a parent whose child waits, makes it drop the child, and returns both. */
  const letGo = async (instance: Instance, child: Instance): Promise<void> => {
    await untilItWaitsFor(child, 'channel "go"')
    await instance.send(other, 'let go')
  }

  test('a child is cancelled by cancel() [explicit_drop_sub_orchestration_cancelled]', async () => {
    const drops = workflow('drops-child', async (_: undefined, ctx) => {
      const child = ctx.run(waits, undefined, { id: 'dropped-child' })
      await ctx.receive(other)
      child.cancel('not needed')
      return (await errorOf(child)).name
    })
    const runtime = await place.open([drops, waits])
    const instance = await runtime.start(drops)

    await letGo(instance, runtime.get('dropped-child'))

    expect(await instance.result()).toBe('CancelledError')
    expect(await statusOf(runtime.get('dropped-child'))).toBe('cancelled')
  })

  test('a child in a scope that is over is cancelled [sub_orchestration_out_of_scope_cancelled]', async () => {
    const leaves = workflow('leaves-scope', async (_: undefined, ctx) => {
      await ctx.scope(async (inner) => {
        inner.run(waits, undefined, { id: 'scoped-child' }).catch(() => {})
        await inner.receive(other)
      })
      return 'left'
    })
    const runtime = await place.open([leaves, waits])
    const instance = await runtime.start(leaves)

    await letGo(instance, runtime.get('scoped-child'))

    expect(await instance.result()).toBe('left')
    expect(await statusOf(runtime.get('scoped-child'))).toBe('cancelled')
  })

  test('a child that is dropped and whose parent is cancelled is cancelled once [user_cancel_instance_and_dropped_future_both_enqueue_cancelinstance_for_child]', async () => {
    const drops = workflow('drops-and-ends', async (_: undefined, ctx) => {
      const child = ctx.run(waits, undefined, { id: 'twice-cancelled' })
      child.catch(() => {})
      await ctx.receive(other)
      child.cancel('dropped')
      await ctx.receive(go)
    })
    const runtime = await place.open([drops, waits])
    const instance = await runtime.start(drops)

    await letGo(instance, runtime.get('twice-cancelled'))
    await instance.cancel('and the parent too')

    expect(await statusOf(instance)).toBe('cancelled')
    expect(await statusOf(runtime.get('twice-cancelled'))).toBe('cancelled')
    const events = await eventsOf(runtime.get('twice-cancelled'))
    expect(events.filter(({ type }) => type === 'cancelled')).toHaveLength(1)
  })
})

describeInPlaces('messages and cancelled receives', (place) => {
  // By position the contract loses such an event; here it waits.
  test('a message that comes before its receive is kept [positional_arrival_before_sub_outstanding]', async () => {
    const late = workflow('late-receive', async (_: undefined, ctx) => {
      await ctx.receive(other)
      return ctx.receive(go)
    })
    const runtime = await place.open(late)
    const instance = await runtime.start(late)

    await instance.send(go, 'early')
    await instance.send(other, 'now')

    expect(await instance.result()).toBe('early')
  })

  test('a cancelled receive takes no message from the next [cancelled_subscription_does_not_steal_future_event]', async () => {
    const twice = workflow('receives-twice', async (_: undefined, ctx) => {
      const { key } = await ctx.race({ go: ctx.receive(go), time: ctx.sleep(1) })
      return [key, await ctx.receive(go)]
    })
    const runtime = await place.open(twice)
    const instance = await runtime.start(twice)
    await eventually(async () => (await typesOf(instance)).includes('fired'))

    await instance.send(go, 'for the second')

    expect(await instance.result()).toEqual(['time', 'for the second'])
  })

  test('receives get messages in order [positional_matching_fifo_without_cancellation]', async () => {
    const three = workflow('receives-three', async (_: undefined, ctx) =>
      ctx.all([ctx.receive(go), ctx.receive(go), ctx.receive(go)]),
    )
    const runtime = await place.open(three)
    const instance = await runtime.start(three)

    for (const text of ['1', '2', '3']) await instance.send(go, text)

    expect(await instance.result()).toEqual(['1', '2', '3'])
  })

  test('the same message sent twice comes twice [duplicate_external_events_not_deduplicated]', async () => {
    const two = workflow('receives-same', async (_: undefined, ctx) => [
      await ctx.receive(go),
      await ctx.receive(go),
    ])
    const runtime = await place.open(two)
    const instance = await runtime.start(two)

    await instance.send(go, 'same')
    await instance.send(go, 'same')

    expect(await instance.result()).toEqual(['same', 'same'])
  })
})
