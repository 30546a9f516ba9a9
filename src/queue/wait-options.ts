import { duration, resolveOptions } from '../base/options.ts'
import { checkSignal } from '../base/signal.ts'
import type { Wait } from './queue.ts'

/** `Wait`, checked. */
export interface ResolvedWait {
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
}

const NOTHING: ResolvedWait = { timeoutMs: undefined, signal: undefined }

/** Checks how long to wait. */
export function resolveWait(owner: string, given: Wait | undefined): ResolvedWait {
  if (given === undefined) return NOTHING
  const { timeout, signal } = resolveOptions(owner, given, {
    timeout: duration(undefined),
    signal: { check: (value) => signalOf(value, owner), fallback: undefined },
  })
  return { timeoutMs: timeout, signal }
}

/** Checks a signal. */
export function signalOf(value: unknown, owner: string): AbortSignal | undefined {
  checkSignal(value, owner)
  return value
}
