import { resolveOptions } from '../base/options.ts'
import { duration } from '../base/time/duration.ts'
import { checkSignal } from '../base/sync/signal.ts'
import type { Wait } from './queue.ts'

/** `Wait`, checked. */
export interface ResolvedWait {
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
}

const NOTHING: ResolvedWait = { timeoutMs: undefined, signal: undefined }

/** What checks how long to wait, in calls of this name. */
export function waitOf(owner: string): (given: Wait | undefined) => ResolvedWait {
  // Made once: `take` is called for every message.
  const table = {
    timeout: duration(undefined),
    signal: { check: (value: unknown) => signalOf(value, owner), fallback: undefined },
  }
  return (given) => {
    if (given === undefined) return NOTHING
    const { timeout, signal } = resolveOptions(owner, given, table)
    return { timeoutMs: timeout, signal }
  }
}

/** Checks a signal. */
export function signalOf(value: unknown, owner: string): AbortSignal | undefined {
  checkSignal(value, owner)
  return value
}
