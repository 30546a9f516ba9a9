// A process with some of the hands that jobs need: `hands.ts <order as JSON>`. Which activities it
// runs is said by its role. On SIGTERM it closes its runtime and ends by itself.

import { setTimeout as passTime } from 'node:timers/promises'
import {
  activity,
  type ActivityContext,
  type ActivityOptions,
  open,
  type OpenOptions,
  workflow,
} from '../../../src/index.ts'
import { note } from '../ledger.ts'
import { storeOf, type StorePlace } from '../store-place.ts'
import { takes } from './effects.ts'

/** What a process serves, and whether it runs workflows. */
export const ROLES = {
  thinker: { tags: 'none', thinks: true },
  printer: { tags: { only: ['print'] }, thinks: false },
  clerk: { tags: ['stamp'], thinks: true },
  both: { tags: 'any', thinks: true },
} as const satisfies Record<string, { tags: OpenOptions['tags']; thinks: boolean }>

export type Role = keyof typeof ROLES

/** What such a process is given. */
export interface HandsOrder {
  readonly store: StorePlace
  readonly ledger: string
  readonly leaseMs: number
  readonly role: Role
}

/** A job: `seed` decides what is to be done, `n` how much of it. */
export interface Job {
  readonly seed: number
  readonly n: number
}

interface Work {
  readonly value: number
  readonly ms: number
  /** Attempts up to this one fail. */
  readonly failing: number
}

/** The workflow and its activities, whose effects are noted in a ledger. */
export function jobsOn(ledger: string) {
  const perform = async ({ value, ms, failing }: Work, ctx: ActivityContext): Promise<number> => {
    const { instanceId: id, activity: name, session } = ctx.info
    const { idempotencyKey: key, attempt } = ctx
    const about = { pid: process.pid, id, name, key, attempt, ...(session && { session }) }
    note(ledger, { what: 'begin', ...about })
    // Every other one says how far it is, and is a task from then on.
    if (value % 2 === 0) ctx.heartbeat({ value })
    await passTime(ms)
    if (attempt <= failing) throw new Error(`attempt ${attempt} fails`)
    note(ledger, { what: 'end', ...about, value })
    return value
  }
  // A death counts as an attempt, and nothing here may fail for good.
  const often: ActivityOptions = { retry: { maxAttempts: 1_000, delay: 10, backoff: 'fixed' } }
  const fetch = activity('fetch', often, perform)
  const print = activity('print', { ...often, tag: 'print' }, perform)
  const stamp = activity('stamp', { ...often, tag: 'stamp' }, perform)
  const job = workflow('job', async ({ seed, n }: Job, ctx) => {
    // All of a session has one tag: it waits for its runtime, which has to serve that.
    const desk = { session: `desk ${seed % 3}` }
    const press = { session: `press ${seed % 3}` }
    let sum = 0
    for (let i = 0; i < n; i++) {
      const work = (place: number): Work => {
        const value = seed + i * 10 + place
        return { value, ms: takes(seed, value, 120), failing: takes(seed, i, 4) === 1 ? 1 : 0 }
      }
      const all = [
        () => ctx.run(fetch, work(1)),
        () => ctx.run(print, work(2)),
        () => ctx.run(stamp, work(3)),
        () => ctx.run(fetch, work(4), desk),
        () => ctx.run(print, work(5), press),
      ]
      const chosen = takes(seed, i + 50, 6)
      const run = chosen > all.length ? all : [all[chosen - 1]!]
      for (const value of await ctx.all(run.map((begin) => begin()))) sum = (sum * 31 + value) % 1e9
    }
    return sum
  })
  return { job, activities: [fetch, print, stamp] }
}

async function main({ store, ledger, leaseMs, role }: HandsOrder): Promise<void> {
  const { job, activities } = jobsOn(ledger)
  const { tags, thinks } = ROLES[role]
  const runtime = await open(storeOf(store), {
    register: [...activities, ...(thinks ? [job] : [])],
    tags,
    lease: leaseMs,
  })
  process.once('SIGTERM', () => void runtime.close({ drain: '2s' }))
}

// Its workflow is needed elsewhere, too.
if (process.argv[2]?.startsWith('{')) await main(JSON.parse(process.argv[2]) as HandsOrder)
