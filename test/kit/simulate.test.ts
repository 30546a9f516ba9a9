import { describe, expect, test } from 'vitest'
import { activity, channel, workflow } from '../../src/index.ts'
import { crashEverywhere, simulate, type SimulateOptions, stub } from '../../src/testing/index.ts'

const charge = activity<number, string>('charge')
const setStatus = activity<string, void>('set status')
const paid = channel<number>('paid')

const order = workflow('order', async (cents: number, ctx) => {
  const receipt = await ctx.run(charge, cents, { timeout: '20s' }) // the line of the charge
  await ctx.sleep('1d')
  return receipt
})

/** The message of a simulation that has to fail. */
async function failureOf(options: SimulateOptions): Promise<string> {
  const error: unknown = await simulate(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Error)
  return (error as Error).message
}

/** The faults that a failure takes. */
function faultsOf(message: string): readonly string[] {
  const [, faults = ''] =
    /Faults needed to reproduce it:\n(.*)\nTo see it again/s.exec(message) ?? []
  return faults.split('\n')
}

/** A checkout whose bank knows idempotency keys, or not. */
function checkout(isIdempotent: boolean): SimulateOptions {
  let charges: string[] = []
  return {
    register: order,
    stubs: [
      stub(charge, (_, { idempotencyKey: key }) => {
        if (!isIdempotent || !charges.includes(key)) charges.push(key)
        return 'receipt'
      }),
    ],
    scenario: async (client) => {
      charges = []
      expect(await client.run(order, 500, { id: 'order-1' })).toBe('receipt')
    },
    check: () => expect(charges).toHaveLength(1),
  }
}

describe('simulate', () => {
  test('passes a workflow that is right, whatever happens', async () => {
    const report = await simulate({ ...checkout(true), runs: 40 })

    expect(report.runs).toBe(40)
    expect(report.faults).toBeGreaterThan(40)
  })

  test('a failure names its seed, the fault that it takes and the line', async () => {
    const message = await failureOf({ ...checkout(false), seed: 3 })

    expect(message).toMatch(/^simulate: with seed \d+: expected .* to have a length of 1 but got 2/)
    expect(faultsOf(message)).toHaveLength(1)
    expect(faultsOf(message)[0]).toMatch(/activity "charge" at .*simulate\.test\.ts:10:/)
    expect(message).toMatch(
      /What happened:\n {2}the scenario makes the start of workflow "order"\n/,
    )
  })

  test('the same seed fails in exactly the same way', async () => {
    const message = await failureOf({ ...checkout(false), seed: 3 })
    const seed = Number(/with seed (\d+)/.exec(message)![1])

    expect(await failureOf({ ...checkout(false), seed, runs: 1 })).toBe(message)
    expect(await failureOf({ ...checkout(false), seed, runs: 1 })).toBe(message)
  })

  test('each kind of fault is found by the check where it can be, and struck in its turn', async () => {
    for (const fault of ['crash', 'freeze', 'delay'] as const) {
      const message = await failureOf({ ...checkout(false), faults: [fault] })
      expect(faultsOf(message).join()).toContain(
        { crash: 'crashes', freeze: 'freezes', delay: 'late' }[fault],
      )
    }
    for (const fault of ['lost-hint', 'duplicate'] as const) {
      const report = await simulate({ ...checkout(false), faults: [fault], runs: 20 })
      expect(report.faults).toBeGreaterThan(0)
    }
  })

  test('says that the scenario fails without faults', async () => {
    const message = await failureOf({
      ...checkout(true),
      check: () => {
        throw new Error('never right')
      },
    })

    expect(message).toMatch(/^simulate: without faults: never right\nWhat happened:/)
  })

  test('says that a scenario does not do the same each time', async () => {
    let runs = 0
    const message = await failureOf({
      ...checkout(true),
      check: () => {
        if (++runs === 5) throw new Error('the fifth')
      },
    })

    expect(message).toMatch(
      /^simulate: with seed 4: the fifth\n.*\nThe same faults did not fail a second time/s,
    )
  })

  test('refuses what it does not know', async () => {
    const right = checkout(true)

    // @ts-expect-error unknown option
    await expect(simulate({ ...right, run: 5 })).rejects.toThrow(/unknown option "run".*"runs"/)
    // @ts-expect-error unknown option
    await expect(simulate({ ...right, frobnicate: 1 })).rejects.toThrow(
      'the known options are register, stubs, start, seed, replay, codec, limits, log, runs, runtimes, faults, ' +
        'scenario, check',
    )
    // @ts-expect-error time is always automatic
    await expect(simulate({ ...right, time: 'manual' })).rejects.toThrow(/unknown option "time"/)
    // @ts-expect-error unknown fault
    await expect(simulate({ ...right, faults: ['fire'] })).rejects.toThrow(
      /faults\[0\] must be one of 'crash'/,
    )
    // @ts-expect-error no scenario
    await expect(simulate({ register: order })).rejects.toThrow(
      'simulate: scenario must be a function of the client, got undefined',
    )
    await expect(simulate({ ...right, runtimes: 0 })).rejects.toThrow(/runtimes must be/)
  })
})

/** An order whose page shows the last status that was written. */
function statusPage(isGuarded: boolean): SimulateOptions {
  const steps = ['', 'paid', 'shipped']
  let shown = ''
  const shop = workflow('shop', async (_: void, ctx) => {
    await ctx.run(setStatus, 'paid')
    await ctx.run(setStatus, 'shipped')
  })
  return {
    register: shop,
    stubs: [
      stub(setStatus, (status) => {
        if (!isGuarded || steps.indexOf(status) > steps.indexOf(shown)) shown = status
      }),
    ],
    scenario: async (client) => {
      shown = ''
      await client.run(shop, undefined, { id: 'order-1' })
    },
    check: () => expect(shown).toBe('shipped'),
  }
}

describe('a write that arrives after another runtime has taken over', () => {
  test('is found with two runtimes', async () => {
    const message = await failureOf(statusPage(false))

    expect(message).toContain("expected 'paid' to be 'shipped'")
    expect(faultsOf(message)).toEqual([
      expect.stringMatching(/freezes .* runtime \d runs activity "set status" at/),
    ])
    expect(message).toContain('(refused: another runtime owns it by now)')
  })

  test('is what two runtimes and a stale owner lead to: otherwise the same scenario passes', async () => {
    const faults = ['crash', 'lost-hint', 'duplicate'] as const
    const alone = await simulate({ ...statusPage(false), runtimes: 1, runs: 60 })
    const others = await simulate({ ...statusPage(false), faults, runs: 60 })
    const crashes = await crashEverywhere(() => {
      const { register, stubs = [], scenario, check } = statusPage(false)
      return { register, stubs, scenario, check: (_, t) => check?.(t) }
    })

    expect([alone.runs, others.runs, crashes.runs]).toEqual([60, 60, 2 * crashes.writes])
  })

  test('does no harm to a page that refuses older states', async () => {
    await expect(simulate({ ...statusPage(true), runs: 60 })).resolves.toMatchObject({ runs: 60 })
  })
})

/** Counts what is paid, as a webhook reports it. */
function payments(dedupeKey: string | undefined): SimulateOptions {
  const collect = workflow('collect', async (_: void, ctx) => {
    let sum = 0
    for (;;) {
      const cents = await ctx.receive(paid, { timeout: '1h' })
      if (cents === undefined) return sum
      sum += cents
    }
  })
  return {
    register: collect,
    scenario: async (client) => {
      const one = await client.start(collect, undefined, { id: 'order-1' })
      await one.send(paid, 500, dedupeKey === undefined ? {} : { dedupeKey })
    },
    check: async (client) => expect(await client.get(collect, 'order-1').result()).toBe(500),
  }
}

describe('a message that arrives twice', () => {
  test('is found, and its send is named', async () => {
    const message = await failureOf(payments(undefined))

    expect(message).toContain('expected 1000 to be 500')
    expect(faultsOf(message)).toEqual([
      expect.stringMatching(/made once more .*: the scenario makes the message on channel "paid"/),
    ])
  })

  test('is what duplicates lead to: without them the same scenario passes', async () => {
    const faults = ['crash', 'freeze', 'lost-hint', 'delay'] as const
    const report = await simulate({ ...payments(undefined), faults, runs: 60 })

    expect(report.faults).toBeGreaterThan(60)
  })

  test('does no harm with a key', async () => {
    const report = await simulate({ ...payments('payment-1'), runs: 60 })

    expect(report.runs).toBe(60)
  })
})

test('a start without an id that is made twice is found, and one with an id is not', async () => {
  const { scenario: _, ...rest } = checkout(true)
  const starting = (id: string | undefined): SimulateOptions => {
    let started = 0
    return {
      ...rest,
      stubs: [stub(charge, () => `receipt ${++started}`)],
      faults: ['duplicate'],
      runs: 20,
      scenario: async (client) => {
        started = 0
        await client.run(order, 500, id === undefined ? {} : { id })
      },
      check: () => expect(started).toBe(1),
    }
  }

  await expect(simulate(starting(undefined))).rejects.toThrow('the start of workflow "order"')
  await simulate(starting('order-1'))
})
