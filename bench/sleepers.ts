// Many instances that sleep: what they cost the runtime, and whether the first one that is due is
// in time. The runtime is opened again before that, so that none of them is in memory.

import { setTimeout } from 'node:timers/promises'

import { activity, workflow } from '../build/index.js'
import { type Place, withRuntime } from './holdfast.ts'
import { exposeGc } from './memory.ts'

/** How many there are, and when some of them are due. */
export interface Size {
  readonly count: number
  readonly dueInMs: number
  readonly dueEveryMs: number
}

/** What they cost. */
export interface Slept {
  /** Bytes of heap more than before any was started, once all sleep. */
  readonly grown: number
  /** Bytes of heap per instance, of those beyond the first few thousand. */
  readonly each: number
  /** Instances put to sleep per second. */
  readonly startedPerSecond: number
  /** Milliseconds from when one was due until its next activity ran; the first one first. */
  readonly late: readonly number[]
}

const DAY_MS = 24 * 3_600_000
// What was released a moment ago stays in memory, up to a number of copies. Growth beyond it counts.
const FIRST = 4_000
const DUE = 10

/** Puts `count` instances to sleep for a day and some for a moment. */
export async function sleepers(place: Place, { count, dueInMs, dueEveryMs }: Size): Promise<Slept> {
  const late: number[] = []
  let allWoke!: () => void
  const woken = new Promise<void>((resolve) => (allWoke = resolve))
  const woke = activity('woke', (dueMs: number) => {
    late.push(Date.now() - dueMs)
    if (late.length === DUE) allWoke()
  })
  const sleeper = workflow<number, void>('sleeper', async (dueMs, ctx) => {
    await ctx.sleepUntil(new Date(dueMs))
    await ctx.run(woke, dueMs)
  })
  const collectGarbage = exposeGc()
  const heap = async (): Promise<number> => {
    await setTimeout(200)
    await collectGarbage()
    return process.memoryUsage().heapUsed
  }

  const grown = await withRuntime(place.store(), [woke, sleeper], async (runtime) => {
    const start = async (many: number): Promise<void> => {
      let left = many
      const lane = async (): Promise<void> => {
        while (left-- > 0) await runtime.start(sleeper, Date.now() + DAY_MS)
      }
      await Promise.all(Array.from({ length: Math.min(500, many) }, lane))
    }
    const before = await heap()
    const first = Math.min(FIRST, count / 2)
    await start(first)
    const few = await heap()
    const beganMs = performance.now()
    await start(count - first)
    const seconds = (performance.now() - beganMs) / 1_000
    const { asleep } = await place.recorded()
    if (asleep !== count) throw new Error(`sleepers: ${count} were started, but ${asleep} sleep`)
    const all = await heap()
    const dueMs = Date.now() + dueInMs
    for (let i = 0; i < DUE; i++) await runtime.start(sleeper, dueMs + i * dueEveryMs)
    return {
      grown: all - before,
      each: (all - few) / (count - first),
      startedPerSecond: (count - first) / seconds,
    }
  })
  await withRuntime(place.store(), [woke, sleeper], () => woken)
  return { ...grown, late }
}
