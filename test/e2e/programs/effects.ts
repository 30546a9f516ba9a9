import { setTimeout as passTime } from 'node:timers/promises'
import { type ActivityContext, activity, failure } from '../../../src/index.ts'
import { note } from '../ledger.ts'

/** What an activity here is given. */
export interface Work {
  readonly value: number
  readonly ms: number
  /** Attempts up to this one fail. */
  readonly failing?: number
}

/** What `refuse` throws, and what a request is refused with. */
export const Refused = failure<{ value: number }>('Refused', { retryable: false })

export type Effects = ReturnType<typeof effectsOn>

/** The side effects of the rounds: each leaves its lines in the ledger. */
export function effectsOn(ledger: string) {
  const log = (what: 'begin' | 'end', ctx: ActivityContext, value?: unknown): void => {
    const { instanceId: id, activity: name } = ctx.info
    const { idempotencyKey: key, attempt } = ctx
    const end = what === 'end' ? { value } : {}
    note(ledger, { what, pid: process.pid, id, name, key, attempt, ...end })
  }
  const perform = async (work: Work, ctx: ActivityContext): Promise<number> => {
    log('begin', ctx)
    await passTime(work.ms)
    if (ctx.attempt <= (work.failing ?? 0)) throw new Error(`attempt ${ctx.attempt} fails`)
    log('end', ctx, work.value)
    return work.value
  }

  return {
    quick: activity('quick', { retry: { maxAttempts: 5, delay: 20 } }, perform),
    // Its delay is long enough to be recorded, so that attempts survive a crash.
    slow: activity('slow', { retry: { maxAttempts: 5, delay: 1_200, jitter: false } }, perform),
    // Run as a task, where each death of a process that held it counts as an attempt.
    pinned: activity(
      'pinned',
      { retry: { maxAttempts: 1_000, delay: 20, backoff: 'fixed' } },
      perform,
    ),
    refuse: activity('refuse', async ({ value, ms }: Work, ctx) => {
      log('begin', ctx)
      await passTime(ms)
      throw new Refused('no', { value })
    }),
    // Runs forever in the process whose number it is given, and returns at once in any other.
    stuck: activity('stuck', async (pid: number, ctx) => {
      log('begin', ctx)
      if (process.pid === pid) await new Promise((resolve) => setTimeout(resolve, 1 << 30))
      log('end', ctx, pid)
      return pid
    }),
    // By these three names the checks recognise what has to be undone and cleaned up.
    reserve: activity('reserve', perform),
    release: activity('release', perform),
    clean: activity('clean', perform),
    /** For use within a step. */
    inline: (work: Work, ctx: ActivityContext): Promise<number> => perform(work, ctx),
  }
}

/** Between 1 and `most`, always the same for the same seed and place. */
export function takes(seed: number, place: number, most: number): number {
  return 1 + (((Math.imul(seed + 1, 2654435761) ^ Math.imul(place + 1, 40503)) >>> 8) % most)
}
