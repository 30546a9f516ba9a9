// How much an instance may store. Limits protect the database, and everyone who shares it, from values
// that belong elsewhere. Sizes are those of encoded values, before a codec chain compresses or encrypts
// them, in bytes of UTF-8.

import type { Logger } from '../../base/log.ts'
import { number, type Option, resolveOptions } from '../../base/options.ts'
import { outsideExecution } from './unhandled-rejections.ts'

/** How much clients may send. */
export interface ClientLimitOptions {
  /** The largest input of a workflow or an activity. @default 4194304 (4 MiB) */
  inputBytes?: number
  /** The largest message, request or reply. @default 4194304 (4 MiB) */
  messageBytes?: number
}

/** How much an instance may store. Sizes are those of encoded values, in bytes. */
export interface LimitOptions extends ClientLimitOptions {
  /** The largest result of a workflow, an activity or a step. @default 4194304 (4 MiB) */
  resultBytes?: number
  /** The largest progress, and the largest details of a heartbeat. @default 262144 (256 KiB) */
  progressBytes?: number
  /** The most state keys of one instance. @default 1000 */
  stateKeys?: number
  /** The largest value of state. @default 1048576 (1 MiB) */
  stateValueBytes?: number
  /**
   * All values of state of one instance together. Raise it with care: each execution writes all state
   * anew. @default 16777216 (16 MiB)
   */
  stateBytes?: number
  /** The most events of one execution. Beyond it, the instance is suspended. @default 100000 */
  historyEvents?: number
  /** All events of one execution together, in characters. @default 134217728 (128 MiB) */
  historyBytes?: number
}

/** Limits, complete. */
export type Limits = Readonly<Required<LimitOptions>>

/** A limit of the size of one value. */
export type ByteLimit =
  | 'inputBytes'
  | 'resultBytes'
  | 'messageBytes'
  | 'progressBytes'
  | 'stateValueBytes'

const KIB = 1 << 10
const MIB = 1 << 20

const atLeast1 = (fallback: number): Option<number> => number({ min: 1, integer: true }, fallback)

/** The table of `ClientLimitOptions`, for `resolveOptions`. */
const CLIENT_LIMITS = {
  inputBytes: atLeast1(4 * MIB),
  messageBytes: atLeast1(4 * MIB),
}

/** The table of `LimitOptions`, for `resolveOptions`. */
const LIMITS = {
  ...CLIENT_LIMITS,
  resultBytes: atLeast1(4 * MIB),
  progressBytes: atLeast1(256 * KIB),
  stateKeys: atLeast1(1_000),
  stateValueBytes: atLeast1(MIB),
  stateBytes: atLeast1(16 * MIB),
  historyEvents: atLeast1(100_000),
  historyBytes: atLeast1(128 * MIB),
} satisfies Record<keyof LimitOptions, Option<number>>

/** Checks the option `limits` of a runtime. */
export function resolveLimits(value: unknown, what: string): Limits {
  return resolveOptions(what, value as LimitOptions, LIMITS)
}

/** Without the option. */
export const DEFAULT_LIMITS: Limits = resolveLimits(undefined, 'limits')

/** Checks the option `limits` of a client, which neither runs code nor records its results. */
export function resolveClientLimits(value: unknown, what: string): Limits {
  return { ...DEFAULT_LIMITS, ...resolveOptions(what, value as LimitOptions, CLIENT_LIMITS) }
}

/** What to do about a value that is too large. */
const ADVICE: Record<ByteLimit, string> = {
  inputBytes: 'store large data elsewhere and pass a reference',
  resultBytes: 'store large data elsewhere and return a reference',
  messageBytes: 'store large data elsewhere and send a reference',
  progressBytes: 'keep it to what watchers need',
  stateValueBytes: 'split it, or store large data elsewhere and keep a reference',
}

const WARN_AT = 0.8
// How often one kind of warning is written at most.
const PAUSE_MS = 60_000
const MAX_KINDS = 1_000

/** A value that is over its limit. */
export class OverLimitError extends RangeError {}

/** The keys of log lines about what a value belongs to. Only asked for a line. */
export type LimitKeys = () => object

/** Checks sizes, and warns of those that come close to a limit. */
export class LimitGuard {
  readonly limits: Limits
  readonly #log: Logger
  readonly #now: () => number
  /** By kind: when it was warned of, and how many were not since. */
  readonly #warned = new Map<string, { atMs: number; suppressed: number }>()

  constructor(limits: Limits, log: Logger, now: () => number) {
    this.limits = limits
    this.#log = log
    this.#now = now
  }

  /** Throws an `OverLimitError` that begins with `label` if the text is over the limit. */
  check(text: string, label: string, limit: ByteLimit, keys?: LimitKeys): void {
    const excess = this.excess(text, label, limit, keys)
    if (excess !== undefined) throw new OverLimitError(excess)
  }

  /** What is wrong with the size of a value; `undefined` if nothing is. */
  excess(text: string, label: string, limit: ByteLimit, keys?: LimitKeys): string | undefined {
    const max = this.limits[limit]
    // A character has one to three bytes: most values need not be counted.
    if (text.length * 3 <= max * WARN_AT) return undefined
    const bytes = Buffer.byteLength(text)
    if (bytes > max) {
      return `${label} has ${bytes} bytes, over the limit of ${max}; ${ADVICE[limit]}, or raise limits.${limit}`
    }
    if (bytes > max * WARN_AT) {
      this.warn(
        label,
        { ...keys?.(), bytes, limit: `limits.${limit}`, max },
        `${label} is close to its limit`,
      )
    }
    return undefined
  }

  /** Writes a warning, but one of the same kind at most once a minute. */
  warn(kind: string, data: object, message: string): void {
    const now = this.#now()
    const last = this.#warned.get(kind)
    if (last !== undefined && now - last.atMs < PAUSE_MS) {
      last.suppressed++
      return
    }
    if (this.#warned.size >= MAX_KINDS) this.#warned.clear()
    this.#warned.set(kind, { atMs: now, suppressed: 0 })
    const suppressed = last?.suppressed ?? 0
    const about = suppressed === 0 ? data : { ...data, suppressed }
    outsideExecution(() => this.#log.warn(about, message))
  }
}

/** A size, as how much of a limit it uses. */
export function isClose(size: number, max: number): boolean {
  return size > max * WARN_AT
}
