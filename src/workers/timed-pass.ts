import { setMaxListeners } from 'node:events'

import type { Clock } from '../base/time/clock.ts'
import { TimeoutError } from '../base/errors.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import type { Directive } from './directive.ts'
import type { PassContext } from './worker.ts'

/** One unit of a worker's work. */
export type Pass = (ctx: PassContext) => Promise<Directive<unknown>>

/**
 * Runs a pass whose signal aborts after `ms`, and waits for its end, however long that takes:
 * starting the next one beside it could do the same work twice.
 *
 * A pass that succeeds anyway has succeeded. One that throws after the limit has failed with
 * a `TimeoutError`, whatever it made of the abort.
 */
export async function timedPass(
  pass: Pass,
  ctx: PassContext,
  clock: Clock,
  ms: number,
): Promise<Directive<unknown>> {
  const { signal } = ctx
  const limit = new AbortController()
  setMaxListeners(0, limit.signal) // As many calls of one pass may listen as it likes.
  const timeout = new TimeoutError(`pass ran longer than ${ms} ms`, ms)
  let isLate = false
  let timer = clock.after(ms, () => {
    isLate = true
    limit.abort(timeout)
    timer = clock.after(ms, () =>
      ctx.log.warn({ timeoutMs: ms }, 'pass ignores its abort signal and is still running'),
    )
  })
  // Not AbortSignal.any: the worker's signal would remember every pass it ever had.
  const stopFollowing = onAbort(signal, () => limit.abort(signal.reason))
  try {
    return await pass({ ...ctx, signal: limit.signal })
  } catch (error) {
    if (!isLate) throw error
    if (error !== timeout) timeout.cause = error
    throw timeout
  } finally {
    timer.cancel()
    stopFollowing()
  }
}
