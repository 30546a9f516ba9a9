import { expect, test } from 'vitest'

import { activity, channel, type OpenOptions, workflow } from '../../src/index.ts'
import { describeInPlaces, type Place, statusOf, untilItWaitsFor } from '../support/contract.ts'
import { deferred } from '../support/engine.ts'

const go = channel<string>('go')
const echo = activity('echo', (text: string) => text)

describeInPlaces('scenarios', (place) => {
  test('a chat answers by progress and begins anew with each turn [copilot_chat_scenario]', async () => {
    const said = channel<string>('said')
    const model = activity('model', (text: string) => `echo: ${text}`)
    const chat = workflow('chat', async (turns: number, ctx): Promise<number> => {
      const text = await ctx.receive(said)
      if (text === 'bye') return turns
      ctx.progress({ turn: turns + 1, reply: await ctx.run(model, text) })
      return ctx.continueAsNew(turns + 1)
    })
    const runtime = await place.open(chat)
    const instance = await runtime.start(chat, 0)

    for (const [i, text] of ['hello', 'how are you?', 'fine'].entries()) {
      await instance.send(said, text)
      for await (const { progress } of instance.watch()) {
        if ((progress as { turn?: number } | undefined)?.turn !== i + 1) continue
        expect(progress).toEqual({ turn: i + 1, reply: `echo: ${text}` })
        break
      }
    }
    await instance.send(said, 'bye')

    expect(await instance.result()).toBe(3)
  })

  test('three runtimes work together while one of them is newer [e2e_rolling_deployment_three_nodes]', async () => {
    const old = workflow('rolling', async (n: number) => `old ${n}`)
    const newer = workflow('rolling', { version: '2.0.0' }, async (n: number, ctx) =>
      ctx.run(echo, `new ${n}`),
    )
    const [one, two] = [await place.open(old), await place.open(old)]
    const three = await place.open([old, newer, echo])

    const results = await Promise.all([one.run(old, 1), two.run(old, 2), three.run(old, 3)])

    expect(results).toEqual(['old 1', 'old 2', 'new 3'])
  })

  test('an eternal workflow moves to the next version [e2e_rolling_deployment_version_upgrade]', async () => {
    const code = (version: string) =>
      workflow(
        'eternal',
        { version },
        async (seen: readonly string[], ctx): Promise<readonly string[]> => {
          const all = [...seen, version]
          return (await ctx.receive(go)) === 'end' ? all : ctx.continueAsNew(all)
        },
      )
    const first = await place.open(code('1.0.0'))
    const started = await first.start(code('1.0.0'), [], { id: 'eternal' })
    await started.send(go, 'on')
    await untilItWaitsFor(started, 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open([code('1.0.0'), code('2.0.0')])
    await second.get('eternal').send(go, 'on')
    await second.get('eternal').send(go, 'end')

    const seen = (await second.get('eternal').result()) as readonly string[]

    expect(seen.slice(0, 1)).toEqual(['1.0.0'])
    expect(seen.at(-1)).toBe('2.0.0')
  })
})

describeInPlaces('one at a time', (place) => {
  const ONE: Partial<OpenOptions> = { concurrency: { instances: 1, activities: 1 } }
  const opened = (register: Parameters<Place['open']>[0]) => place.open(register, ONE)

  test('a workflow runs [single_thread_basic_orchestration]', async () => {
    const basic = workflow('one-basic', async (text: string, ctx) => ctx.run(echo, text))
    const runtime = await opened(basic)

    expect(await runtime.run(basic, 'x')).toBe('x')
  })

  test('activities follow each other [single_thread_sequential_activities]', async () => {
    const chain = workflow('one-chain', async (_: undefined, ctx) => {
      let text = ''
      for (const letter of 'abc') text = await ctx.run(echo, text + letter)
      return text
    })
    const runtime = await opened(chain)

    expect(await runtime.run(chain)).toBe('abc')
  })

  test('timers fire [single_thread_timer_handling]', async () => {
    const sleeps = workflow('one-sleeps', async (_: undefined, ctx) => {
      await ctx.all([ctx.sleep(5), ctx.sleep(3)])
      return 'slept'
    })
    const runtime = await opened(sleeps)

    expect(await runtime.run(sleeps)).toBe('slept')
  })

  test('executions follow each other [single_thread_continue_as_new]', async () => {
    const rolls = workflow('one-rolls', async (n: number, ctx): Promise<number> =>
      n < 3 ? ctx.continueAsNew(n + 1) : n,
    )
    const runtime = await opened(rolls)

    expect(await runtime.run(rolls, 0)).toBe(3)
  })

  test.each([
    ['started at once [single_thread_concurrent_orchestrations]', 5],
    ['more than there is room for [single_thread_single_concurrency]', 12],
  ])('many instances all end, %s', async (_title, count) => {
    const many = workflow(`one-many-${count}`, async (n: number, ctx) => {
      await ctx.sleep(1)
      return ctx.run(echo, `${n}`)
    })
    const runtime = await opened(many)

    const results = await Promise.all(
      Array.from({ length: count }, (_item, n) => runtime.run(many, n)),
    )

    expect(results).toEqual(Array.from({ length: count }, (_item, n) => `${n}`))
  })

  test.each([
    ['one that listens makes room [single_thread_1x1_cooperative_activity_cancellation]', true],
    ['one that does not is left behind [single_thread_1x1_runaway_activity_aborted]', false],
  ])('an activity of a cancelled instance: %s', async (_title, listens) => {
    const begun = deferred()
    const release = deferred()
    const held = activity(`one-held-${listens}`, async (_: undefined, { signal }) => {
      begun.resolve()
      if (listens) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      else await release.promise
    })
    const runs = workflow(`one-cancels-${listens}`, async (_: undefined, ctx) => ctx.run(held))
    const after = workflow(`one-after-${listens}`, async (text: string, ctx) => ctx.run(echo, text))
    const runtime = await opened([runs, after])
    const instance = await runtime.start(runs)
    await begun.promise

    await instance.cancel()

    expect(await statusOf(instance)).toBe('cancelled')
    release.resolve()
    expect(await runtime.run(after, 'there is room')).toBe('there is room')
  })
})
