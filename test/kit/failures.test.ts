import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  activity,
  channel,
  NondeterminismError,
  stateKey,
  type Workflow,
  workflow,
} from '../../src/index.ts'
import { openTest, stub } from '../../src/testing/index.ts'
import {
  breaks as breaksInEngine,
  charge,
  forgets as forgetsInEngine,
} from './engine/runtime/pay.ts'

/** The number of the first line of a file, or this one, that ends like this. */
const lineOf = (end: string, file = import.meta.filename): number =>
  readFileSync(file, 'utf8')
    .split('\n')
    .findIndex((line) => line.endsWith(end)) + 1

/** A line of this file, as a stack shows it. */
const at = (comment: string): string => `failures.test.ts:${lineOf(comment)}:`

const noop = activity('noop', async (n: number) => n)

const broken = workflow('broken', async (_, ctx) => {
  await ctx.sleep('1d')
  throw new Error('out of paper') // no paper
})

const awaitsIo = workflow('awaits io', async (_, ctx) => {
  await ctx.run(noop, 1)
  await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)))
  await new Promise(() => {})
})

const forgets = workflow('forgets', async (_, ctx) => {
  void ctx.run(noop, 1) // the forgotten call
  return 'done'
})

const brokenAtOnce = workflow('broken at once', async (_, ctx) => {
  await ctx.step('look', async () => 1)
  throw new Error('no paper at all')
})

const callsNoop = workflow('calls noop', async (_, ctx) =>
  ctx.run(noop, 1, { retry: { maxAttempts: 1 } }),
)

const spins = workflow('spins', async (_, ctx) => {
  for (;;) await ctx.sleep(0)
})

describe('a test fails', () => {
  test('when a result rejects', async () => {
    await using t = await openTest({ register: broken })

    await expect(t.run(broken)).rejects.toThrow('out of paper')
  })

  test('at its end, when an instance has failed that it did not wait for', async () => {
    const t = await openTest({ register: broken })

    await t.start(broken, undefined, { id: 'b1' })
    await t.advance('2d')

    await expect(t.close()).rejects.toThrow(
      new RegExp(
        String.raw`workflow failed \(instance "b1" of workflow "broken"\): out of paper\n\s+at .*${at('// no paper')}`,
      ),
    )
  })

  test('at its end, when an instance fails that it has only just started', async () => {
    const t = await openTest({ register: brokenAtOnce })

    await t.start(brokenAtOnce, undefined, { id: 'b2' })

    await expect(t.close()).rejects.toThrow(/instance "b2" .*: no paper at all/)
  })

  test('at its end, when an instance fails late because the machine is slow', async () => {
    const late = workflow('late', async (_, ctx) => {
      await ctx.step('block', () => {
        const endMs = performance.now() + 150
        while (performance.now() < endMs);
      })
      throw new Error('no paper at last')
    })
    const t = await openTest({ register: late })

    await t.start(late, undefined, { id: 'b3' })

    await expect(t.close()).rejects.toThrow(/instance "b3" .*: no paper at last/)
  })

  test.each(['advance', 'settle', 'idle'] as const)('when a stub calls %s', async (method) => {
    await using t = await openTest({
      register: callsNoop,
      stubs: [stub(noop, async (n) => (await t[method](1), n))],
    })

    await expect(t.run(callsNoop)).rejects.toThrow(
      `${method}: called by code that the test runtime runs and would wait for`,
    )
  })

  test.each(['advance', 'settle'] as const)(
    'in %s, when a workflow loops without waiting',
    async (method) => {
      const t = await openTest({ register: spins })
      await t.start(spins)

      await expect(t[method](1)).rejects.toThrow('something loops without waiting')
      await t.close().catch(() => {})
    },
  )

  test('in settle, once', async () => {
    await using t = await openTest({ register: broken })
    await t.start(broken)
    await t.advance('2d')

    await expect(t.settle()).rejects.toThrow('out of paper')
    await t.settle()
  })

  test('when an instance is suspended: its result rejects with the report', async () => {
    await using t = await openTest({ register: awaitsIo })

    await expect(t.run(awaitsIo)).rejects.toThrow(
      'waits for something that is not durable (a timer, I/O, or a promise of its own',
    )
  })

  test('when an instance was suspended before its result is asked for', async () => {
    await using t = await openTest({ register: awaitsIo })
    const one = await t.start(awaitsIo)
    await t.idle()

    await expect(one.result()).rejects.toThrow('waits for something that is not durable')
  })

  test('when an await is forgotten', async () => {
    await using t = await openTest({ register: forgets })

    await expect(t.run(forgets)).rejects.toThrow(
      new RegExp(`ended without awaiting activity "noop".*${at('// the forgotten call')}`),
    )
  })

  test('at its end, when a call was begun and never awaited', async () => {
    const left = workflow('left', async (_, ctx) => {
      void ctx.sleep('1h')
      await ctx.run(noop, 1)
      return 'done'
    })
    const t = await openTest({ register: left })

    expect(await t.run(left)).toBe('done')
    await t.idle()

    await expect(t.close()).rejects.toThrow(/without awaiting calls.*ctx\.sleep|timer/)
  })

  test('at its end, when a promise of workflow code rejects without a handler', async () => {
    const careless = workflow('careless', async (_, ctx) => {
      void (async () => {
        await ctx.run(noop, 1)
        throw new Error('nobody listens')
      })()
      await ctx.sleep('1d')
      return 'done'
    })
    const t = await openTest({ register: careless })

    expect(await t.run(careless)).toBe('done')

    await expect(t.close()).rejects.toThrow('unhandled rejection in workflow code')
  })

  test('never for the failure of a child that its parent handles', async () => {
    const child = workflow('child', async () => {
      throw new Error('no')
    })
    const parent = workflow('parent', async (_, ctx) => ctx.run(child).catch(() => 'handled'))
    await using t = await openTest({ register: [parent, child] })

    expect(await t.run(parent)).toBe('handled')
  })

  test('never for a failure that it looked at', async () => {
    await using t = await openTest({ register: broken })
    const one = await t.start(broken)
    await t.advance('2d')

    expect((await one.info())?.status).toBe('failed')
  })
})

describe('an await that the test itself forgets', () => {
  const slow = workflow('slow', async (_, ctx) => {
    await ctx.sleep('1d')
    return 'done'
  })

  const returnsRun = async (): Promise<unknown> => {
    await using t = await openTest({ register: slow })
    // oxlint-disable-next-line typescript/return-await -- the mistake that is reported
    return t.run(slow)
  }

  test('in front of run is reported at its end, with the line', async () => {
    const t = await openTest({ register: slow })
    void t.run(slow) // not awaited

    await expect(t.close()).rejects.toThrow(
      new RegExp(
        `^the test did not await run\\(\\) at .*failures\\.test\\.ts:${lineOf('// not awaited')}:`,
      ),
    )
  })

  test('behind return is reported with what to write', async () => {
    await expect(returnsRun()).rejects.toThrow(/did not await run\(\) [^]*write `return await`/)
  })

  test('is reported for each call, also those that have ended', async () => {
    const t = await openTest({ register: slow })
    const one = await t.start(slow)
    void one.send(channel<string>('notes'), 'hello')
    void one.result()
    void t.advance('2d')
    await t.idle()

    await expect(t.close()).rejects.toThrow(/send\(\) .*\n.*result\(\) .*\n.*advance\(\) /)
  })

  test('comes first, before the stubs that were not reached because of it', async () => {
    const t = await openTest({ register: slow, stubs: [stub(noop, (n) => n)] })
    void t.run(slow)

    await expect(t.close()).rejects.toThrow(/^the test did not await run\(\)/)
  })

  test('is not reported where something waits for the call', async () => {
    await using t = await openTest({ register: slow })
    const one = await t.start(slow)
    const later = one.result()
    const [result] = await Promise.all([later, t.settle()])
    one.info().catch(() => {})
    await expect(one.info()).resolves.toMatchObject({ status: 'completed' })

    expect(result).toBe('done')
  })
})

test('lines of an application are named, also where its folders are called as those of the package', async () => {
  const file = join(import.meta.dirname, 'engine/runtime/pay.ts')
  const place = (comment: string): string => `${file}:${lineOf(comment, file)}:`
  const t = await openTest({ register: [forgetsInEngine, breaksInEngine, charge] })

  await expect(t.run(forgetsInEngine, 1)).rejects.toThrow(place('// forgotten'))
  await t.start(breaksInEngine)
  await expect(t.settle()).rejects.toThrow(place('// thrown'))
  await t.close()
})

/** The report of a workflow that is replayed before each turn. */
const messageOf = async (wrong: Workflow<void, unknown>): Promise<string> => {
  await using t = await openTest({ register: [wrong, noop], replay: 'always' })
  return await t.run(wrong).then(
    () => 'no error',
    (error: Error) => error.message,
  )
}

describe('replay: always', () => {
  const leaks = workflow('leaks', async (_, ctx) => {
    let receipt = 'none'
    await ctx.step('charge', () => {
      receipt = 'r-1'
    })
    return receipt
  })
  const dated = workflow('dated', async (_, ctx) => {
    await ctx.sleep('1d')
    return new Date().toISOString().slice(0, 10)
  })

  const reminds = workflow('reminds', async (_, ctx) => {
    const began = new Date()
    await ctx.sleep('2d')
    if (new Date().getTime() - began.getTime() > 86_400_000) await ctx.run(noop, 1)
  })

  test('is what finds it: without, these mistakes pass', async () => {
    await using t = await openTest({ register: [leaks, dated, reminds, noop] })

    expect(await t.run(leaks)).toBe('r-1')
    expect(await t.run(dated)).toBe('2030-01-02')
    await t.run(reminds)
    expect(t.callsOf(noop)).toHaveLength(1)
  })

  test('suspends code whose calls differ', async () => {
    let runs = 0
    const counts = workflow('counts', async (_, ctx) => {
      await ctx.run(noop, runs++)
      return 'done'
    })
    await using t = await openTest({ register: counts, replay: 'always' })

    const error: Error = await t.run(counts).then(
      () => new Error('no error'),
      (thrown: Error) => thrown,
    )

    expect(error.message).toMatch(/activity "noop".*failures\.test\.ts/s)
    expect(error.cause).toBeInstanceOf(NondeterminismError)
  })

  test('suspends code that keeps the result of a step in a variable', async () => {
    await using t = await openTest({ register: leaks, replay: 'always' })

    await expect(t.run(leaks)).rejects.toThrow(
      /expected the result "r-1", got the result "none", after step "charge" at .*failures\.test\.ts:/,
    )
  })

  test('suspends code that reads the date', async () => {
    await using t = await openTest({ register: dated, replay: 'always' })

    await expect(t.run(dated)).rejects.toThrow('did not do the same when its history was replayed')
  })

  test('suspends code that reads the time between two dates', async () => {
    await using t = await openTest({ register: reminds, replay: 'always' })

    await expect(t.run(reminds)).rejects.toThrow('the code now returns')
  })

  test('names the last call, and its line, of code that no longer asks for another', async () => {
    const message = await messageOf(
      workflow('branch', async (_: void, ctx) => {
        let isPaid = false
        await ctx.step('pay', () => void (isPaid = true)) // the step
        if (isPaid) await ctx.run(noop, 1)
      }),
    )

    expect(message).toContain(
      'activity "noop" with input 1, but the code now returns, after step "pay"',
    )
    expect(message).toContain(at('// the step'))
    expect(message).toContain('; a variable that a step or an activity sets')
    expect(message).not.toContain('undo the change')
  })

  test('names the line of a change of state that differs', async () => {
    const when = stateKey<Date>('when')
    const message = await messageOf(
      workflow('stamped', async (_: void, ctx) => {
        ctx.state.set(when, new Date()) // the state
        await ctx.run(noop, 1)
      }),
    )

    expect(message).toContain('but now calls state.set "when" to')
    expect(message).toContain(at('// the state'))
  })

  test('names the last call of code that waits for nothing durable, and nothing of the engine', async () => {
    const message = await messageOf(
      workflow('stuck', async (_: void, ctx) => {
        await ctx.run(noop, 1) // the last call
        await new Promise(() => {})
      }),
    )

    expect(message).toContain('that nothing resolves), after activity "noop" at')
    expect(message).toContain(at('// the last call'))
    expect(message).not.toMatch(/<anonymous>\)$/m)
  })
})
