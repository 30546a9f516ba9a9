import { expect, test } from 'vitest'

import { channel, workflow } from '../../src/index.ts'
import { describeInPlaces, errorOf, untilItWaitsFor } from '../support/contract.ts'
import { eventually } from '../support/engine.ts'

// What the contract calls custom status is progress here. It is any value, carries no version of
// its own (`watch` shows the changes), and code keeps in a variable what it said last.

const go = channel<string>('go')
const LIMITED = { limits: { progressBytes: 100 } }
/** Text that has this length when it is encoded. */
const encodedTo = (length: number): string => 'x'.repeat(length - 2)

describeInPlaces('progress', (place) => {
  test('it is seen when the instance has ended [custom_status_set_visible_on_completion]', async () => {
    const says = workflow('p-says', async (_: undefined, ctx) => ctx.progress('done'))
    const runtime = await place.open(says)
    const instance = await runtime.start(says)
    await instance.result()

    expect((await instance.info())?.progress).toBe('done')
  })

  test('undefined clears it [custom_status_reset_clears_to_none]', async () => {
    const resets = workflow('p-resets', async (_: undefined, ctx) => {
      ctx.progress('something')
      await ctx.receive(go)
      ctx.progress(undefined)
    })
    const runtime = await place.open(resets)
    const instance = await runtime.start(resets)
    await untilItWaitsFor(instance, 'channel "go"')
    expect((await instance.info())?.progress).toBe('something')

    await instance.send(go, 'on')
    await instance.result()

    expect((await instance.info())?.progress).toBeUndefined()
  })

  test('the last of a turn counts [custom_status_last_write_wins]', async () => {
    const says = workflow('p-last', async (_: undefined, ctx) => {
      for (const text of ['one', 'two', 'three']) ctx.progress(text)
    })
    const runtime = await place.open(says)
    const instance = await runtime.start(says)
    await instance.result()

    expect((await instance.info())?.progress).toBe('three')
  })

  test('each turn that sets it raises its version [custom_status_version_increments]', async () => {
    const says = workflow('p-versions', async (_: undefined, ctx) => {
      await ctx.receive(go)
      for (const text of ['one', 'two']) ctx.progress(text)
      await ctx.receive(go)
      ctx.progress(undefined)
    })
    const runtime = await place.open(says)
    const instance = await runtime.start(says)
    const versions = [(await instance.info())?.progressVersion]

    await instance.send(go, 'on')
    await eventually(async () => (await instance.info())?.progress === 'two')
    versions.push((await instance.info())?.progressVersion)
    await instance.send(go, 'on')
    await instance.result()

    expect([...versions, (await instance.info())?.progressVersion]).toEqual([0, 1, 2])
  })

  test('it stays over turns that do not set it [custom_status_persists_across_turns]', async () => {
    const says = workflow('p-stays', async (_: undefined, ctx) => {
      ctx.progress('half')
      await ctx.receive(go)
      await ctx.receive(go)
    })
    const runtime = await place.open(says)
    const instance = await runtime.start(says)
    await instance.send(go, 'on')
    await untilItWaitsFor(instance, 'channel "go"')

    expect((await instance.info())?.progress).toBe('half')
    await instance.send(go, 'on')
    await instance.result()
    expect((await instance.info())?.progress).toBe('half')
  })

  test.each([
    ['a later turn changes it [custom_status_updated_in_later_turn]'],
    ['watchers see each change in its order [custom_status_version_increments]'],
  ])('%s', async (title) => {
    const says = workflow(`p-later-${title.length}`, async (_: undefined, ctx) => {
      ctx.progress(1)
      await ctx.receive(go)
      ctx.progress(2)
      await ctx.receive(go)
      ctx.progress(3)
    })
    const runtime = await place.open(says)
    const instance = await runtime.start(says)
    const seen: unknown[] = []
    for await (const { progress, status } of instance.watch()) {
      seen.push(progress)
      if (status === 'running') await instance.send(go, 'on')
    }

    expect(seen).toEqual([1, 2, 3])
  })

  test('there is none unless the code sets it [custom_status_none_when_not_set]', async () => {
    const quiet = workflow('p-quiet', async () => 1)
    const runtime = await place.open(quiet)
    const instance = await runtime.start(quiet)
    await instance.result()

    expect((await instance.info())?.progress).toBeUndefined()
  })

  test('it is seen when the instance has failed [custom_status_visible_on_failure]', async () => {
    const fails = workflow('p-fails', async (_: undefined, ctx) => {
      ctx.progress({ step: 7 })
      throw new Error('failed')
    })
    const runtime = await place.open(fails)
    const instance = await runtime.start(fails)
    await errorOf(instance.result())

    expect(await instance.info()).toMatchObject({ status: 'failed', progress: { step: 7 } })
  })

  const sized = workflow('p-sized', async (length: number, ctx) => ctx.progress(encodedTo(length)))

  test('a value beyond the limit fails the workflow [custom_status_exceeding_size_limit_fails_orchestration]', async () => {
    const runtime = await place.open(sized, LIMITED)

    await expect(runtime.run(sized, 1_000)).rejects.toThrow('100')
  })

  test('a value as long as the limit passes [custom_status_at_size_limit_succeeds]', async () => {
    const runtime = await place.open(sized, LIMITED)
    const instance = await runtime.start(sized, 100)
    await instance.result()

    expect((await instance.info())?.progress).toBe(encodedTo(100))
  })

  test('one character more does not [custom_status_size_limit_precise_boundary]', async () => {
    const runtime = await place.open(sized, LIMITED)

    await expect(runtime.run(sized, 101)).rejects.toThrow('101')
  })

  test.each([
    ['it stays over continue as new [custom_status_persists_across_continue_as_new]'],
    ['the next execution begins with it [custom_status_get_reflects_carry_forward_after_can]'],
  ])('%s', async (title) => {
    const rolls = workflow(`p-rolls-${title.length}`, async (n: number, ctx): Promise<string> => {
      if (n > 0) return ctx.receive(go)
      ctx.progress('from the first')
      return ctx.continueAsNew(1)
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await untilItWaitsFor(instance, 'channel "go"')

    expect(await instance.info()).toMatchObject({ execution: 2, progress: 'from the first' })
    await instance.send(go, 'end')
    await instance.result()
  })

  test('the next execution may clear it [custom_status_reset_across_continue_as_new]', async () => {
    const rolls = workflow('p-rolls-reset', async (n: number, ctx): Promise<number> => {
      if (n === 0) {
        ctx.progress('from the first')
        return ctx.continueAsNew(1)
      }
      ctx.progress(undefined)
      return n
    })
    const runtime = await place.open(rolls)
    const instance = await runtime.start(rolls, 0)
    await instance.result()

    expect((await instance.info())?.progress).toBeUndefined()
  })
})
