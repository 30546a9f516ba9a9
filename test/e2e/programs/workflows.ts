import { setTimeout as passTime } from 'node:timers/promises'
import { type ActivityContext, activity, failure, workflow } from '../../../src/index.ts'
import { note } from '../ledger.ts'

/** What every workflow here is given: `seed` decides how long things take, `n` how many there are. */
export interface Job {
  readonly seed: number
  readonly n: number
}

interface Work {
  readonly value: number
  readonly ms: number
  /** Attempts up to this one fail. */
  readonly failing?: number
}

const Refused = failure<{ value: number }>('Refused', { retryable: false })

/** The workflows of the rounds. Their results depend on their input alone. */
export function workflowsOn(ledger: string) {
  const log = (what: 'begin' | 'end', ctx: ActivityContext, value?: unknown): void => {
    const { instanceId: id, activity: name } = ctx.info
    const { idempotencyKey: key, attempt } = ctx
    note(ledger, {
      what,
      pid: process.pid,
      id,
      name,
      key,
      attempt,
      ...(what === 'end' && { value }),
    })
  }
  const perform = async (
    { value, ms, failing = 0 }: Work,
    ctx: ActivityContext,
  ): Promise<number> => {
    log('begin', ctx)
    await passTime(ms)
    if (ctx.attempt <= failing) throw new Error(`attempt ${ctx.attempt} fails`)
    log('end', ctx, value)
    return value
  }

  const quick = activity('quick', { retry: { maxAttempts: 5, delay: 20 } }, perform)
  // Its delay is long enough to be recorded, so that attempts survive a crash.
  const slow = activity('slow', { retry: { maxAttempts: 5, delay: 1_200, jitter: false } }, perform)
  const refuse = activity('refuse', async ({ value, ms }: Work, ctx) => {
    log('begin', ctx)
    await passTime(ms)
    throw new Refused('no', { value })
  })
  // Runs for ever in the process whose number it is given, and at once in any other.
  const stuck = activity('stuck', async (pid: number, ctx) => {
    log('begin', ctx)
    if (process.pid === pid) await new Promise((resolve) => setTimeout(resolve, 1 << 30))
    log('end', ctx, pid)
    return pid
  })

  return {
    sequence: workflow('sequence', async ({ seed, n }: Job, ctx) => {
      let sum = 0
      for (let i = 0; i < n; i++) {
        sum = (sum * 31 + (await ctx.run(quick, { value: seed + i, ms: takes(seed, i, 60) }))) % 1e9
      }
      return sum
    }),

    fan: workflow('fan', async ({ seed, n }: Job, ctx) => {
      const first = await Promise.all(
        Array.from({ length: n }, (_, i) =>
          ctx.run(quick, { value: i, ms: takes(seed, i, 250), failing: i % 4 === 0 ? 1 : 0 }),
        ),
      )
      const second = await Promise.all(
        first.map(async (value, i) => {
          const more = await ctx.run(quick, { value: value * 2, ms: takes(seed, n + i, 80) })
          return more + (await ctx.step('add', (step) => stepped(step, value + 1)))
        }),
      )
      return second.reduce((a, b) => a + b, seed)
    }),

    timers: workflow('timers', async ({ seed, n }: Job, ctx) => {
      let sum = seed
      for (let i = 0; i < n; i++) {
        const race = ctx.run(quick, { value: i, ms: takes(seed, i, 300) })
        await Promise.race([ctx.sleep(takes(seed, i + 100, 150)), race])
        await Promise.all([ctx.sleep(takes(seed, i, 200)), ctx.sleep(20)])
        sum += await race
      }
      return sum
    }),

    retries: workflow('retries', async ({ seed, n }: Job, ctx) => {
      let sum = await ctx.run(quick, { value: seed, ms: 10, failing: 2 })
      for (let i = 0; i < n; i++) {
        try {
          await ctx.run(refuse, { value: i, ms: takes(seed, i, 50) })
        } catch (error) {
          if (!(error instanceof Refused)) throw error
          sum += error.details.value
        }
      }
      return sum + (await ctx.run(slow, { value: 7, ms: 20, failing: 1 }))
    }),

    steps: workflow('steps', async ({ seed, n }: Job, ctx) => {
      const parts: number[] = []
      for (let i = 0; i < n; i++) {
        parts.push(
          await ctx.step(`step ${i}`, async (step) => {
            const value = (seed * (i + 1)) % 9973
            log('begin', step)
            await passTime(takes(seed, i, 60))
            log('end', step, value)
            return value
          }),
        )
      }
      return parts
    }),

    // Longer than a lease, so that it is taken over while it sleeps; or released, when longer still.
    nap: workflow('nap', async ({ seed, n }: Job, ctx) => {
      const before = await ctx.run(quick, { value: seed, ms: 10 })
      await ctx.sleep(2_800 + (seed % 2_600))
      return before + (await ctx.run(quick, { value: n, ms: 10 }))
    }),

    hang: workflow('hang', async (pid: number, ctx) => ctx.run(stuck, pid)),
  }

  function stepped(step: ActivityContext, value: number): number {
    log('begin', step)
    log('end', step, value)
    return value
  }
}

/** The workflows that take a `Job`. */
export const JOBS = ['sequence', 'fan', 'timers', 'retries', 'steps', 'nap'] as const

/** One of them by name, to be started. */
export interface Start {
  readonly workflow: (typeof JOBS)[number] | 'hang'
  readonly id: string
  readonly input: Job | number
}

/** Between 1 and `most`, always the same for the same seed and place. */
function takes(seed: number, place: number, most: number): number {
  return 1 + (((Math.imul(seed + 1, 2654435761) ^ Math.imul(place + 1, 40503)) >>> 8) % most)
}
