// By how much what has its time comes late, when nothing else is going on.

import { setTimeout as sleep } from 'node:timers/promises'

import { connect, type Duration, open, workflow } from '../dist/index.js'
import { wallMs } from './between-processes.ts'
import type { Place } from './holdfast.ts'

/** What comes when: so many, one each `everyMs`, each due after `afterMs`. */
export interface DelayedSize {
  readonly count: number
  readonly afterMs: number
  readonly everyMs: number
  /** A third of it is the time between two ticks, up to ten seconds. */
  readonly lease: Duration
}

/** By how many milliseconds starts are late whose time a client has set; 0 means at once. */
export async function lateStarts(
  place: Place,
  { count, afterMs, everyMs, lease }: DelayedSize,
): Promise<number[]> {
  const late: number[] = []
  const punctual = workflow<number, void>('punctual', async (dueMs, ctx) => {
    await ctx.step('begun', () => void late.push(wallMs() - dueMs))
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
  await Promise.all(started.map((instance) => instance.result({ timeout: '1m' })))
  return late
}

/** By how many milliseconds sleeps of workflows end late. */
export async function lateSleeps(
  place: Place,
  { count, afterMs, everyMs, lease }: DelayedSize,
): Promise<number[]> {
  const late: number[] = []
  const sleeper = workflow<number, void>('sleeper', async (sleepMs, ctx) => {
    const dueMs = ctx.now().getTime() + sleepMs
    await ctx.sleep(sleepMs)
    await ctx.step('awake', () => void late.push(wallMs() - dueMs))
  })
  await using runtime = await open(place.store(), { register: sleeper, lease })
  await runtime.run(sleeper, 1)
  late.length = 0
  const started = []
  for (let i = 0; i < count; i++) {
    started.push(await runtime.start(sleeper, afterMs))
    await sleep(everyMs)
  }
  await Promise.all(started.map((instance) => instance.result({ timeout: '1m' })))
  return late
}
