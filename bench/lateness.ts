// How late timed work begins when nothing else happens.

import { setTimeout as sleep } from 'node:timers/promises'

import { connect, type Duration, open, workflow } from '../build/index.js'
import { wallMs } from './between-processes.ts'
import type { Place } from './holdfast.ts'

/** What is due when: this many, one each `everyMs`, each due after `afterMs`. */
export interface DelayedSize {
  readonly count: number
  readonly afterMs: number
  readonly everyMs: number
  /** A third of it is the time between two ticks, up to ten seconds. */
  readonly lease: Duration
}

/** Measurements, and when this many are there. */
function gathering(count: number): {
  readonly late: number[]
  readonly all: Promise<void>
  readonly push: (lateMs: number) => void
} {
  const late: number[] = []
  let complete!: () => void
  const all = new Promise<void>((resolve) => (complete = resolve))
  const push = (lateMs: number): void => {
    if (late.push(lateMs) === count) complete()
  }
  return { late, all, push }
}

/** By how many milliseconds starts are late whose time a client has set; 0 means at once. */
export async function lateStarts(
  place: Place,
  { count, afterMs, everyMs, lease }: DelayedSize,
): Promise<number[]> {
  const { late, push, all } = gathering(count)
  const punctual = workflow<number, void>('punctual', async (dueMs, ctx) => {
    await ctx.step('begun', () => push(wallMs() - dueMs))
  })
  await using _ = await open(place.store(), { register: punctual, lease })
  await using client = connect(place.store())
  // Opens connections, on which the server plans each procedure once: no part of being on time.
  await client.run(punctual, wallMs())
  late.length = 0
  const started = []
  for (let i = 0; i < count; i++) {
    started.push(await client.start(punctual, wallMs() + afterMs, { delay: afterMs }))
    await sleep(everyMs)
  }
  // Asking for results now would keep the runtime busy, which is to be idle.
  await all
  await Promise.all(started.map((instance) => instance.result({ timeout: '1m' })))
  return late
}

/** By how many milliseconds sleeps of workflows end late. */
export async function lateSleeps(
  place: Place,
  { count, afterMs, everyMs, lease }: DelayedSize,
): Promise<number[]> {
  const { late, push, all } = gathering(count)
  const sleeper = workflow<number, void>('sleeper', async (sleepMs, ctx) => {
    const dueMs = ctx.now().getTime() + sleepMs
    await ctx.sleep(sleepMs)
    await ctx.step('awake', () => push(wallMs() - dueMs))
  })
  await using runtime = await open(place.store(), { register: sleeper, lease })
  await runtime.run(sleeper, 1)
  late.length = 0
  const started = []
  for (let i = 0; i < count; i++) {
    started.push(await runtime.start(sleeper, afterMs))
    await sleep(everyMs)
  }
  // Asking for results now would keep the runtime busy, which is to be idle.
  await all
  await Promise.all(started.map((instance) => instance.result({ timeout: '1m' })))
  return late
}
