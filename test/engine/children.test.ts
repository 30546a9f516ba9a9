import { expect, test } from 'vitest'
import {
  activity,
  CancelledError,
  channel,
  ConflictError,
  failure,
  stateKey,
  TimeoutError,
  workflow,
  WorkflowError,
} from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')
const total = stateKey<number>('total')
const Broke = failure<{ code: number }>('BrokeInChildrenTest')
const double = activity('double', (n: number) => n * 2)

const adds = workflow('adds', async (n: number, ctx) => (await ctx.run(double, n)) + 1)
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(word))
const breaks = workflow('breaks', async (how: 'failure' | 'error') => {
  throw how === 'failure' ? new Broke('broke', { code: 7 }) : new TypeError('wrong')
})

describeOnStores('children', (kind) => {
  test('results come back typed, in any number, each under an id of its own', async () => {
    await using space = await openSpace(kind)
    const sums = workflow('sums', async (count: number, ctx) => {
      const children = Array.from({ length: count }, (_, i) => ctx.run(adds, i))
      const ids = new Set(children.map(({ id }) => id))
      const results = await Promise.all(children)
      return { ids: ids.size, sum: results.reduce((sum, n) => sum + n, 0) }
    })
    const runtime = await space.open([sums, adds])

    expect(await runtime.run(sums, 10)).toEqual({ ids: 10, sum: 100 })
  })

  test('a failure of a child arrives as itself, another error as a WorkflowError', async () => {
    await using space = await openSpace(kind)
    const catches = workflow('catches', async (how: 'failure' | 'error', ctx) => {
      const error = await ctx.run(breaks, how).catch((caught: unknown) => caught)
      if (error instanceof Broke) return `failure ${error.details.code}`
      if (error instanceof WorkflowError) return `${error.workflow}: ${error.originalName}`
      return 'something else'
    })
    const runtime = await space.open([catches, breaks])

    expect(await runtime.run(catches, 'failure')).toBe('failure 7')
    expect(await runtime.run(catches, 'error')).toBe('breaks: TypeError')
  })

  test('a taken id is an error to the caller, not a hang', async () => {
    await using space = await openSpace(kind)
    const clashes = workflow('clashes', async (_: undefined, ctx) => {
      const error = await ctx.run(adds, 1, { id: 'taken' }).catch((caught: unknown) => caught)
      return error instanceof ConflictError ? error.instanceId : String(error)
    })
    const runtime = await space.open([clashes, adds])
    await runtime.run(adds, 1, { id: 'taken' })

    expect(await runtime.run(clashes)).toBe('taken')
  })

  test('ids do not collide over executions of the parent', async () => {
    await using space = await openSpace(kind)
    const loops = workflow('loops', async (round: number, ctx): Promise<number> => {
      const sum = await ctx.run(adds, round)
      return round < 4 ? ctx.continueAsNew(round + 1) : sum
    })
    const runtime = await space.open([loops, adds])

    expect(await runtime.run(loops, 0)).toBe(9)
  })

  test('a child that continues as new still answers its parent, in whatever execution that is', async () => {
    await using space = await openSpace(kind)
    const turns = workflow('turns', async (n: number, ctx): Promise<string> => {
      await ctx.sleep(1)
      return n > 0 ? ctx.continueAsNew(n - 1) : 'end'
    })
    const twice = workflow('twice', async (again: boolean, ctx): Promise<string> => {
      if (again) return ctx.continueAsNew(false)
      return ctx.run(turns, 3)
    })
    const runtime = await space.open([twice, turns])

    expect(await runtime.run(twice, true)).toBe('end')
  })

  test('a parent and its child continue after a restart, and each child is started once', async () => {
    await using space = await openSpace(kind)
    const parent = workflow('parent', async (_: undefined, ctx) => {
      const child = ctx.run(waits)
      const said = await child
      return `child said ${said}`
    })
    const first = await space.open([parent, waits])
    await first.start(parent, undefined, { id: 'p' })
    const child = await eventually(async () => {
      const waitingFor = (await first.get('p').info())?.waitingFor ?? []
      return /^child "([^"]+)"/.exec(waitingFor[0] ?? '')?.[1]
    })
    await eventually(async () => (await first.get(child).info()) !== undefined)
    await first.close()

    const second = await space.open([parent, waits])
    await second.get(child).send(word, 'hello')

    expect(await second.get(parent, 'p').result()).toBe('child said hello')
  })

  test('the parent may send to its child and read its state', async () => {
    await using space = await openSpace(kind)
    const counts = workflow('counts', async (_: undefined, ctx) => {
      for (let sum = 0; ;) {
        const said = await ctx.receive(word)
        if (said === 'end') return sum
        ctx.state.set(total, (sum += Number(said)))
      }
    })
    const talks = workflow('talks', async (_: undefined, ctx) => {
      const child = ctx.run(counts)
      await child.send(word, '3')
      await child.send(word, '4')
      let seen: number | undefined
      while (seen !== 7) {
        seen = await child.readState(total)
        if (seen !== 7) await ctx.sleep(5)
      }
      await child.send(word, 'end')
      return [seen, await child, await child.readState(total)]
    })
    const runtime = await space.open([talks, counts])

    expect(await runtime.run(talks)).toEqual([7, 7, 7])
  })

  test.each([
    ['cancel', 'cancelled'],
    ['terminate', 'terminated'],
  ] as const)(
    'onParentClose %s: the child is %s when the parent ends',
    async (onParentClose, status) => {
      await using space = await openSpace(kind)
      const leaves = workflow('leaves', async (_: undefined, ctx) => {
        void ctx.run(waits, undefined, { id: 'left', onParentClose }).catch(() => {})
        await ctx.sleep(20)
        return 'left'
      })
      const runtime = await space.open([leaves, waits])

      await runtime.run(leaves)

      const info = await eventually(async () => {
        const now = await runtime.get('left').info()
        return now?.finishedAt && now
      })
      expect(info.status).toBe(status)
    },
  )

  test('onParentClose abandon: the child continues by itself', async () => {
    await using space = await openSpace(kind)
    const leaves = workflow('leaves', async (_: undefined, ctx) => {
      void ctx.run(waits, undefined, { id: 'left', onParentClose: 'abandon' })
      await ctx.sleep(20)
      return 'left'
    })
    const runtime = await space.open([leaves, waits])
    await runtime.run(leaves)

    await runtime.get('left').send(word, 'still here')

    expect(await runtime.get(waits, 'left').result()).toBe('still here')
  })

  test('onParentClose abandon: the child starts even when the parent ends in the same turn', async () => {
    await using space = await openSpace(kind)
    const parent = workflow('parent', async (how: string, ctx) => {
      if (how === 'again') return 'done'
      const left = ctx.run(waits, undefined, { id: `child ${how}`, onParentClose: 'abandon' })
      if (how === 'with a handler') left.catch(() => {})
      if (how === 'throws') throw new Error('oh')
      if (how === 'continues') return ctx.continueAsNew('again')
      if (how === 'a turn later') await ctx.step('one', () => 1)
      return 'done'
    })
    const runtime = await space.open([parent, waits])

    for (const how of ['returns', 'with a handler', 'throws', 'continues', 'a turn later']) {
      await (await runtime.start(parent, how, { id: how })).result({ timeout: '8s' }).catch(String)
      const child = runtime.get(waits, `child ${how}`)
      await child.send(word, 'on')
      expect(await child.result({ timeout: '8s' })).toBe('on')
    }
    expect(await runtime.get('throws').info()).toMatchObject({ status: 'failed' })
    expect(await runtime.get('continues').info()).toMatchObject({ output: 'done' })
    expect(space.log.lines.filter(({ data }) => 'calls' in data)).toEqual([])
  })

  test('an unawaited child whose id is taken does not keep its parent from ending', async () => {
    await using space = await openSpace(kind)
    const parent = workflow('parent', async (_: undefined, ctx) => {
      void ctx.run(waits, undefined, { id: 'taken', onParentClose: 'abandon' })
      return 'done'
    })
    const runtime = await space.open([parent, waits])
    await runtime.start(waits, undefined, { id: 'taken' })

    expect(await runtime.run(parent, undefined, { timeout: '8s' })).toBe('done')
  })

  test('a cancellation reaches all descendants, and waits for their clean-up', async () => {
    await using space = await openSpace(kind)
    const cleaned: string[] = []
    const clean = activity('clean', (who: string) => void cleaned.push(who))
    const leaf = workflow('leaf', async (_: undefined, ctx) => {
      try {
        await ctx.sleep('1d')
      } finally {
        await ctx.uncancellable(() => ctx.run(clean, 'leaf'))
      }
    })
    const middle = workflow('middle', async (_: undefined, ctx) => {
      await ctx.run(leaf, undefined, { id: 'leaf' })
    })
    const top = workflow('top', async (_: undefined, ctx) => {
      await ctx.run(middle, undefined, { id: 'middle' })
    })
    const runtime = await space.open([top, middle, leaf])
    const instance = await runtime.start(top)
    await eventually(async () => (await runtime.get('leaf').info()) !== undefined)

    await instance.cancel('enough')

    await expect(instance.result()).rejects.toThrow(CancelledError)
    for (const id of ['middle', 'leaf']) {
      await eventually(async () => (await runtime.get(id).info())?.status === 'cancelled')
    }
    expect(cleaned).toEqual(['leaf'])
  })

  test('a child that is cancelled or terminated directly is an error to its parent', async () => {
    await using space = await openSpace(kind)
    const catches = workflow('catches', async (id: string, ctx) => {
      const error = await ctx.run(waits, undefined, { id }).catch((caught: unknown) => caught)
      return (error as Error).name
    })
    const runtime = await space.open([catches, waits])
    const one = await runtime.start(catches, 'one')
    const two = await runtime.start(catches, 'two')
    for (const id of ['one', 'two']) {
      await eventually(async () => (await runtime.get(id).info()) !== undefined)
    }

    await runtime.get('one').cancel('go')
    await runtime.get('two').terminate('now')

    expect(await one.result()).toBe('CancelledError')
    expect(await two.result()).toBe('WorkflowError')
  })

  test('a child that takes too long is cancelled, and the parent gets a TimeoutError', async () => {
    await using space = await openSpace(kind)
    const hurries = workflow('hurries', async (_: undefined, ctx) => {
      const child = ctx.run(waits, undefined, { id: 'slow', timeout: 20 })
      const error = await child.catch((caught: unknown) => caught)
      return error instanceof TimeoutError ? error.afterMs : String(error)
    })
    const runtime = await space.open([hurries, waits])

    expect(await runtime.run(hurries)).toBe(20)
    await eventually(async () => (await runtime.get('slow').info())?.status === 'cancelled')
  })

  test('ctx.start starts an independent instance', async () => {
    await using space = await openSpace(kind)
    const starts = workflow('starts', async (_: undefined, ctx) => {
      const remote = await ctx.start(waits, undefined, { id: 'own', labels: { by: 'starts' } })
      void ctx.start(adds, 20, { id: 'not-awaited' })
      return remote.id
    })
    const runtime = await space.open([starts, waits, adds])

    expect(await runtime.run(starts)).toBe('own')
    expect(await runtime.get(adds, 'not-awaited').result()).toBe(41)
    const info = await runtime.get('own').info()
    expect(info).toMatchObject({ status: 'running', labels: { by: 'starts' } })
    expect(info?.parentId).toBeUndefined()
  })

  test('info shows the parent, and code can read it', async () => {
    await using space = await openSpace(kind)
    const knows = workflow('knows', async (_: undefined, ctx) => ctx.info.parentId)
    const asks = workflow('asks', async (_: undefined, ctx) =>
      ctx.run(knows, undefined, { id: 'k' }),
    )
    const runtime = await space.open([asks, knows])

    expect(await runtime.run(asks, undefined, { id: 'the-parent' })).toBe('the-parent')
    expect((await runtime.get('k').info())?.parentId).toBe('the-parent')
  })
})
