import { describe, expect, test, vi } from 'vitest'
import { activity, channel, failure, request, TimeoutError, workflow } from '../../src/index.ts'
import { openTest, stub, type TestOptions } from '../../src/testing/index.ts'
import { openObserved } from '../../src/testing/kit/open-test.ts'
import type { TestClient } from '../../src/testing/kit/test-runtime.ts'

const START = Date.parse('2030-01-01T00:00:00Z')
const HOUR = 3_600_000

const slow = activity<string, string>('slow')

const realMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('real time', () => {
  test('that an activity takes is waited for, and no timer is skipped over meanwhile', async () => {
    const race = workflow('race', async (_, ctx) => {
      const first = await ctx.race({ done: ctx.run(slow, 'x'), late: ctx.sleep('1h') })
      return first.key
    })
    await using t = await openTest({
      register: race,
      stubs: [
        stub(slow, async () => {
          await realMs(60)
          return 'done'
        }),
      ],
    })

    expect(await t.run(race)).toBe('done')
    expect(t.now().getTime()).toBe(START)
  })

  test('an activity that waits for another instance lets time pass', async () => {
    const nap = workflow('nap', async (_, ctx) => {
      await ctx.sleep('2d')
      return 'rested'
    })
    const ask = activity('ask', async (_: string, ctx) => ctx.client.run(nap, undefined))
    const outer = workflow('outer', async (_, ctx) => ctx.run(ask, 'x'))
    await using t = await openTest({ register: [outer, nap] })

    expect(await t.run(outer)).toBe('rested')
    expect(t.now().getTime()).toBe(START + 48 * HOUR)
  })

  test('works beside fake timers of the runner', async () => {
    const nap = workflow('nap', async (_, ctx) => ctx.sleep('2d'))
    vi.useFakeTimers()
    try {
      await using t = await openTest({ register: nap })
      await t.run(nap)
      expect(t.now().getTime()).toBe(START + 48 * HOUR)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a date has the constructor that code sees, while a test runtime is open and afterwards', async () => {
  const nap = workflow('nap', async (_, ctx) => ctx.sleep('2d'))
  {
    await using t = await openTest({ register: nap })
    await t.run(nap)
    expect(new Date().constructor).toBe(Date)
  }
  expect(new Date().constructor).toBe(Date)
})

test('fake timers that outlast a test runtime leave nothing behind for the next one', async () => {
  const nap = workflow('nap', async (_, ctx) => ctx.sleep('2d'))
  const before = [globalThis.Date, globalThis.setTimeout]
  const t = await openTest({ register: nap })
  vi.useFakeTimers()
  await t.close()
  vi.useRealTimers()

  {
    await using again = await openTest({ register: nap })
    await again.run(nap)
  }

  expect(globalThis.Date).toBe(before[0])
  expect(globalThis.setTimeout).toBe(before[1])
})

describe('a stub that sleeps', () => {
  test('takes time of the test', async () => {
    const wait = workflow('wait', async (_, ctx) => {
      await ctx.run(slow, 'x')
      return (ctx.now().getTime() - START) / HOUR
    })
    await using t = await openTest({
      register: wait,
      stubs: [
        stub(slow, async (_, _ctx, { sleep }) => {
          await sleep('5h')
          return 'x'
        }),
      ],
    })

    expect(await t.run(wait)).toBe(5)
  })

  test('exceeds the timeout of its activity', async () => {
    const wait = workflow('wait', async (_, ctx) =>
      ctx.run(slow, 'x', { timeout: '1h', retry: { maxAttempts: 2, delay: '1m', jitter: false } }),
    )
    const reasons: unknown[] = []
    await using t = await openTest({
      register: wait,
      stubs: [
        stub(slow, async (_, _ctx, { sleep }) => {
          await sleep('5h').catch((error: unknown) => reasons.push(error))
          return 'x'
        }),
      ],
    })

    await expect(t.run(wait)).rejects.toThrow('took longer than 3600000 ms')
    expect(reasons).toEqual([expect.any(TimeoutError), expect.any(TimeoutError)])
    expect(t.now().getTime()).toBe(START + 2 * HOUR + 60_000)
  })

  test('misses its heartbeat', async () => {
    const wait = workflow('wait', async (_, ctx) =>
      ctx.run(slow, 'x', { heartbeatTimeout: '10m', retry: { maxAttempts: 1 } }),
    )
    await using t = await openTest({
      register: wait,
      stubs: [
        stub(slow, async (_, ctx, { sleep }) => {
          for (let i = 0; i < 5; i++) {
            await sleep('8m')
            ctx.heartbeat(i)
          }
          await sleep('11m')
          return 'x'
        }),
      ],
    })

    await expect(t.run(wait)).rejects.toThrow('sent no heartbeat for 600000 ms')
  })
})

test('retries wait for their backoff', async () => {
  const flaky = activity<string, string>('flaky', async () => {
    throw new Error('down')
  })
  const tries = workflow('tries', async (_, ctx) => {
    try {
      await ctx.run(flaky, 'x', {
        retry: { maxAttempts: 5, backoff: 'fixed', delay: '6h', maxDelay: '6h', jitter: false },
      })
    } catch {
      return (ctx.now().getTime() - START) / HOUR
    }
    return 0
  })
  await using t = await openTest({ register: tries })

  expect(await t.run(tries)).toBe(24)
  expect(t.calls).toHaveLength(5)
})

describe('manual time', () => {
  test('moves only by advance', async () => {
    const nap = workflow('nap', async (_, ctx) => {
      await ctx.sleep('2d')
      return 'rested'
    })
    await using t = await openTest({ register: nap, time: 'manual' })

    const one = await t.start(nap)
    const result = one.result()
    await t.advance('1d')
    expect((await one.info())?.status).toBe('running')
    await t.advance('1d')

    expect(await result).toBe('rested')
  })

  test('says once that advance is missing', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const nap = workflow('nap', async (_, ctx) => ctx.sleep('2d'))
    await using t = await openTest({ register: nap, time: 'manual' })

    const result = t.run(nap, undefined, { id: 'nap-1' })
    await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 5_000 })

    expect(warn.mock.calls[0]![0]).toMatch(
      /^result: instance "nap-1" waits, and time is manual: call advance\(\); the instance waits for timer/,
    )
    // Waits of the test are examined every half second.
    await realMs(1_200)
    expect(warn).toHaveBeenCalledOnce()
    await t.advance('2d')
    await result
    warn.mockRestore()
  })
})

test('a timeout of the caller is time of the test', async () => {
  const nap = workflow('nap', async (_, ctx) => ctx.sleep('2d'))
  await using t = await openTest({ register: nap })

  await expect(t.run(nap, undefined, { timeout: '1h' })).rejects.toThrow(TimeoutError)
  expect(t.now().getTime()).toBe(START + HOUR)
})

test('the error of a timeout says what the instance waits for by then', async () => {
  const daily = workflow('daily', async (_, ctx) => {
    for (;;) await ctx.sleep('1d')
  })
  await using t = await openTest({ register: daily })

  await expect(t.run(daily, undefined, { timeout: '10d' })).rejects.toThrow(
    'it is waiting for a timer until 2030-01-11T00:00:00.000Z',
  )
})

test('a wait that nothing can end is rejected, with what it waits for', async () => {
  const never = channel<string>('never')
  const stuck = workflow('stuck', async (_, ctx) => ctx.receive(never))
  await using t = await openTest({ register: stuck })

  await expect(t.run(stuck, undefined, { id: 's1' })).rejects.toThrow(
    'result: instance "s1" will never end: nothing runs and no timer is set; the instance waits for message on channel "never"',
  )
})

const forever = workflow('forever', async (_: void, ctx) => {
  for (;;) await ctx.sleep('20000d')
})

test('a wait for a loop without end is rejected after a hundred years', async () => {
  await using t = await openTest({ register: forever })

  await expect(t.run(forever, undefined, { id: 'f1' })).rejects.toThrow(
    /^result: instance "f1" does not end: time has moved by 100 years; the instance waits for timer until 2139.*; bound the wait with result\(\{ timeout \}\)/,
  )
})

/** What is said on the console while the code runs. */
async function saidBy(
  options: TestOptions,
  act: (t: TestClient) => Promise<unknown>,
): Promise<string> {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  try {
    const t = await openObserved('openTest', options, { patienceMs: 60 })
    // A clock that stands never ends it.
    void act(t).catch(() => {})
    await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 3_000 })
    await t.close().catch(() => {})
    expect(warn).toHaveBeenCalledOnce()
    return String(warn.mock.calls[0]![0])
  } finally {
    warn.mockRestore()
  }
}

describe('a call of the test that takes long in real time says why,', () => {
  const pay = workflow('pay', async (_: void, ctx) => ctx.run(slow, 'x'))

  test.each<[string, RegExp, (t: TestClient) => Promise<unknown>]>([
    ['result', /^result: instance "p1" has taken/, (t) => t.get('p1').result({ timeout: '3s' })],
    ['advance', /^advance\(\) has taken/, (t) => t.advance('1h')],
  ])('in %s, and names the activity that has not ended', async (_, begins, act) => {
    let hasBegun: (() => void) | undefined
    const begun = new Promise<void>((resolve) => (hasBegun = resolve))
    const hangs = stub(slow, () => {
      hasBegun?.()
      return new Promise<string>(() => {})
    })

    const said = await saidBy({ register: pay, stubs: [hangs] }, async (t) => {
      await t.start(pay, undefined, { id: 'p1' })
      await begun
      await act(t)
    })

    expect(said).toMatch(begins)
    expect(said).toContain(
      'activity "slow" is still running, and the test clock does not move until it ends',
    )
  })

  test('and how far time has moved', async () => {
    const often = workflow('often', async (_: void, ctx) => {
      for (;;) await ctx.sleep('1m')
    })

    expect(
      await saidBy({ register: often }, (t) => t.run(often, undefined, { timeout: '10d' })),
    ).toMatch(/in which the time of the test moved by .*; bound the wait/)
    expect(
      await saidBy({ register: often, time: 'manual' }, async (t) => {
        await t.start(often)
        await t.advance('3650d')
      }),
    ).toMatch(/in which the time of the test moved by .*; .*advance by less/)
  })
})

describe('a call that is pending at close', () => {
  const busy = workflow('busy', async (_: void, ctx) => ctx.run(slow, 'x'))
  const hangs = stub(slow, () => new Promise<string>(() => {}))

  test.each<[string, (t: TestClient) => Promise<void>]>([
    ['advance', (t) => t.advance('400d')],
    ['settle', (t) => t.settle()],
    ['idle', (t) => t.idle()],
  ])('is rejected, and says nothing afterwards: %s', async (_, act) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    try {
      const options = { register: busy, stubs: [hangs] }
      const t = await openObserved('openTest', options, { patienceMs: 300 })
      await t.start(busy)
      const pending = act(t).catch((error: Error) => error.message)

      await t.close()

      expect(await pending).toContain('the test runtime was closed')
      await realMs(400)
      expect(warn).not.toHaveBeenCalled()
    } finally {
      warn.mockRestore()
    }
  })
})

test('an activity without code is named', async () => {
  const pay = workflow('pay', async (_, ctx) => ctx.run(slow, 'x'))
  await using t = await openTest({ register: pay })

  await expect(t.run(pay)).rejects.toThrow(
    '- activity "slow" has no code here: register it, or stub it',
  )
})

test('children, state, requests, watch and continue-as-new work as in production', async () => {
  const Gone = failure('Gone')
  const total = request<number, number>('total')
  const child = workflow('child', async (n: number, ctx) => {
    await ctx.sleep('1d')
    if (n < 0) throw new Gone('negative')
    return n * 2
  })
  const parent = workflow('parent', async (n: number, ctx): Promise<string> => {
    if (n > 0) return ctx.continueAsNew(n - 1)
    const sum = await ctx.map([1, 2, 3], (one, inner) => inner.run(child, one))
    const failed = await ctx.run(child, -1).catch((error: unknown) => error instanceof Gone)
    const asked = await ctx.receive(total)
    asked.reply(sum.reduce((a, b) => a + b, 0))
    ctx.progress('replied')
    return `${failed}`
  })
  await using t = await openTest({ register: [parent, child], replay: 'always' })

  const one = await t.start(parent, 3)
  expect(await one.request(total, 1)).toBe(12)
  expect(await one.result()).toBe('true')

  const seen: unknown[] = []
  for await (const { progress } of one.watch()) seen.push(progress)
  expect(seen).toEqual(['replied'])
})

test('the same seed gives the same ids, numbers and histories', async () => {
  const draw = workflow('draw', async (_, ctx) => {
    await ctx.sleep('1d')
    return [ctx.info.id, ctx.uuid(), ctx.random()]
  })
  const run = async (seed: number): Promise<unknown> => {
    await using t = await openTest({ register: draw, seed })
    return await t.run(draw)
  }

  expect(await run(7)).toEqual(await run(7))
  expect(await run(7)).not.toEqual(await run(8))
})

test('a start with a delay begins when the test has reached it', async () => {
  const hello = workflow('hello', async (_, ctx) => ctx.now().getTime() - START)
  await using t = await openTest({ register: hello })
  const one = await t.start(hello, undefined, { delay: '1h' })

  await t.advance(HOUR - 1)
  expect((await one.info())?.status).toBe('scheduled')

  expect(await one.result()).toBe(HOUR)
})

test('advance moves on although children outlive their parent', async () => {
  const child = workflow('child', async (_, ctx) => {
    await ctx.sleep('3d')
    return 'grown up'
  })
  const parent = workflow('parent', async (_, ctx) => {
    const { id } = await ctx.start(child)
    return id
  })
  await using t = await openTest({ register: [parent, child] })
  const id = await t.run(parent)

  await t.advance('2d')
  expect((await t.get(id).info())?.status).toBe('running')
  await t.advance('1d')

  expect(await t.get(id).result()).toBe('grown up')
})

test('time moves while the test waits for the reply to a request', async () => {
  const price = request<string, number>('price')
  const shop = workflow('shop', async (_, ctx) => {
    const asked = await ctx.receive(price)
    await ctx.sleep('2d')
    asked.reply(500)
  })
  await using t = await openTest({ register: shop })
  const one = await t.start(shop)

  expect(await one.request(price, 'tea')).toBe(500)
  expect(t.now().getTime()).toBe(START + 48 * HOUR)
})
