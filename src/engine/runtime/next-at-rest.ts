import type { Next } from '../../store/workflow-store.ts'
import type { Copy } from './copy.ts'

// An instance that will not wake before this is released; its copy is kept for a while.
const REST_MS = 5_000

/**
 * What becomes of an instance that has had its turn: it is kept while something of it runs here or
 * comes soon, and released until it wakes otherwise. While closing, all that is at rest is released.
 */
export function nextAtRest(copy: Copy, now: number, closing: boolean): Next {
  const wakeAt = copy.arrivals.length > 0 ? undefined : sleepsUntil(copy, closing)
  if (wakeAt === undefined) return { kind: 'keep' }
  return wakeAt <= now + REST_MS && !closing ? { kind: 'keep' } : { kind: 'release', wakeAt }
}

/** When an instance that only waits for time wakes; `undefined` when something of it runs. */
function sleepsUntil(copy: Copy, closing: boolean): number | undefined {
  if (copy.running.size > 0) return undefined
  let wakeAt = Infinity
  for (const [command, { event }] of copy.run.open) {
    if (event.type === 'timer') {
      wakeAt = Math.min(wakeAt, event.fireAt)
      continue
    }
    const retryAt = copy.attempts.get(command)?.retryAt
    if (retryAt === undefined && !closing) return undefined
    wakeAt = Math.min(wakeAt, retryAt ?? 0)
  }
  return wakeAt === Infinity ? undefined : wakeAt
}
