import type { Logger } from '../../base/log.ts'
import { resolveBackoff } from '../../base/time/backoff.ts'
import { systemClock } from '../../base/time/clock.ts'
import { retry } from '../../base/time/retry.ts'
import { StoreError } from '../../store/store-error.ts'

/** How to wait for a server that is not ready. */
export interface ServerWait {
  /** How long to wait for a server that is starting. */
  readonly withinMs: number
  readonly log: Logger | undefined
  /** Whether to stop waiting. */
  isOver(): boolean
}

// Nothing listens: the server is just being restarted, or the address is wrong.
const REFUSED_WITHIN_MS = 3_000
const BACKOFF = resolveBackoff('wait for the server', { initial: 100, max: 1_000, jitter: 0 })
// The first line is logged at once, each further one after twice the time.
const SECOND_LINE_AFTER_MS = 10_000

/**
 * Runs `use`, and retries while the server is starting or restarting. Other errors are thrown at once;
 * a server that refuses connections is retried for a shorter time.
 */
export async function waitForServer<T>(use: () => Promise<T>, wait: ServerWait): Promise<T> {
  const begunMs = performance.now()
  let seenMs = begunMs
  let lineAfterMs = 0
  return retry(use, {
    clock: systemClock(),
    backoff: BACKOFF,
    shouldRetry(error) {
      const state = stateOf(error)
      const nowMs = performance.now()
      const waitedMs = nowMs - begunMs
      if (state === 'starting') seenMs = nowMs
      if (state === undefined || wait.isOver()) return false
      const refusedMs = Math.min(REFUSED_WITHIN_MS, wait.withinMs)
      if (state === 'refusing' && nowMs - seenMs >= refusedMs) return false
      if (waitedMs >= wait.withinMs) throw gaveUp(error as StoreError, waitedMs)
      if (waitedMs >= lineAfterMs) {
        lineAfterMs = Math.max(SECOND_LINE_AFTER_MS, lineAfterMs * 2)
        const withinMs = state === 'refusing' ? refusedMs : wait.withinMs
        const about = { waitedMs: Math.round(waitedMs), withinMs, err: error }
        wait.log?.warn(
          about,
          state === 'starting'
            ? 'the database server is starting or shutting down; waiting for it'
            : `the database server refuses connections; retrying for ${withinMs / 1_000} seconds`,
        )
      }
      return true
    },
  })
}

const STARTING = new Set(['57P01', '57P02', '57P03'])
// Also a Unix socket that does not exist, and a proxy without a server behind it.
const REFUSING = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET'])

function stateOf(error: unknown): 'starting' | 'refusing' | undefined {
  if (!(error instanceof StoreError)) return undefined
  const code = codeOf(error.cause)
  if (STARTING.has(code)) return 'starting'
  // The driver has no code for a connection that the server closed while shutting down.
  const isCut = code === '' && error.code === 'connection_lost'
  return isCut || REFUSING.has(code) ? 'refusing' : undefined
}

function codeOf(cause: unknown): string {
  // Each address of a name was tried.
  if (cause instanceof AggregateError) return codeOf(cause.errors[0])
  const { code } = (cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function gaveUp(error: StoreError, waitedMs: number): StoreError {
  const words = `${error.message}; waited ${Math.round(waitedMs)} ms for the server (option connectTimeout)`
  return new StoreError(error.code, 'open', words.replace(/^open: /, ''), { cause: error })
}
