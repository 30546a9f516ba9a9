// Workflows that depend on no other process.

import { channel, TimeoutError, workflow } from '../../../src/index.ts'
import { type Effects, Refused, takes } from './effects.ts'
import type { Job } from './workflows.ts'

/** Never gets a message. */
export const never = channel<string>('never')

export function jobsOn({ quick, slow, pinned, refuse, stuck, inline }: Effects) {
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
          return more + (await ctx.step('add', (step) => inline({ value: value + 1, ms: 0 }, step)))
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
        const work = { value: (seed * (i + 1)) % 9973, ms: takes(seed, i, 60) }
        parts.push(await ctx.step(`step ${i}`, (step) => inline(work, step)))
      }
      return parts
    }),

    // Longer than a lease, so that it is taken over while it sleeps; or released, when longer still.
    nap: workflow('nap', async ({ seed, n }: Job, ctx) => {
      const before = await ctx.run(quick, { value: seed, ms: 10 })
      await ctx.sleep(2_800 + (seed % 2_600))
      return before + (await ctx.run(quick, { value: n, ms: 10 }))
    }),

    // Each of these has a branch that is cancelled, and only one possible winner.
    branches: workflow('branches', async ({ seed, n }: Job, ctx) => {
      const drawn = ctx.random()
      const first = await ctx.race({
        work: ctx.run(quick, { value: drawn, ms: takes(seed, 1, 120) }),
        late: ctx.sleep('1h'),
        never: (inner) => inner.receive(never),
      })
      const items = Array.from({ length: n }, (_, i) => i)
      const mapped = await ctx.map(
        items,
        (i, inner) => inner.run(quick, { value: seed + i, ms: takes(seed, i, 80) }),
        { concurrency: 2 },
      )
      const refused = await ctx
        .all([
          ctx.run(refuse, { value: n, ms: takes(seed, 2, 60) }),
          ctx.run(slow, { value: 1, ms: 30, failing: 3 }),
          ctx.receive(never),
        ])
        .catch((error: unknown) => (error instanceof Refused ? error.details.value : String(error)))
      const late = await ctx
        .scope((inner) => inner.receive(never), { timeout: takes(seed, 3, 90) })
        .catch((error: unknown) => error instanceof TimeoutError)
      const silence = await ctx.receive(never, { timeout: takes(seed, 4, 90) })
      return [first.key, first.value === drawn, mapped, refused, late, silence ?? 'silence']
    }),

    // For many instances; a process that dies with a session gives it up.
    sessions: workflow('sessions', async ({ seed, n }: Job, ctx) => {
      const session = `session ${seed % 5}`
      let sum = 0
      for (let i = 0; i < n; i++) {
        const work = { value: seed + i, ms: takes(seed, i, 40), failing: i % 4 === 1 ? 1 : 0 }
        sum = (sum * 31 + (await ctx.run(pinned, work, { session }))) % 1e9
      }
      return sum
    }),

    hang: workflow('hang', async (pid: number, ctx) => ctx.run(stuck, pid)),
  }
}
