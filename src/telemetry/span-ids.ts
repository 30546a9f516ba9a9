// Ids for the SDK of OpenTelemetry: random ones, except where the engine chooses the id of a span.
//
// The span of an instance is reported when the instance ends, by whichever process that is, while its
// turns and attempts are reported before, as its children: all of them derive its id. The API of
// OpenTelemetry has no way to say which id a span has to have, but the SDK asks its id generator.

import { randomFillSync } from 'node:crypto'
import type { SpanIds } from '../base/tracing.ts'

/** The id generator of OpenTelemetry's SDK. */
export interface IdGenerator {
  generateTraceId(): string
  generateSpanId(): string
}

const CHOOSE = Symbol('holdfast.chooseIds')

/** An id generator that Holdfast can choose ids with. */
export interface HoldfastIdGenerator extends IdGenerator {
  /** Calls code that starts one span with these ids. @internal */
  [CHOOSE]<T>(ids: SpanIds, code: () => T): T
}

/**
 * Creates the id generator that lets spans of an instance be below a span of their own. Give the same one
 * to the SDK (`idGenerator`) and to `openTelemetry`, in every process.
 *
 * @param others Where all other ids come from. Left out: they are random.
 */
export function idGenerator(others: IdGenerator = new RandomIds()): HoldfastIdGenerator {
  let chosen: SpanIds | undefined
  return {
    generateTraceId: () => chosen?.traceId ?? others.generateTraceId(),
    generateSpanId: () => chosen?.spanId ?? others.generateSpanId(),
    [CHOOSE](ids, code) {
      chosen = ids
      try {
        return code()
      } finally {
        chosen = undefined
      }
    },
  }
}

/** Calls code that starts one span with these ids. */
export function withIds<T>(generator: HoldfastIdGenerator, ids: SpanIds, code: () => T): T {
  return generator[CHOOSE](ids, code)
}

/** Whether this is what `idGenerator` returned. */
export function isIdGenerator(given: unknown): given is HoldfastIdGenerator {
  return typeof given === 'object' && given !== null && CHOOSE in given
}

const TRACE_BYTES = 16
const SPAN_BYTES = 8
const POOL_BYTES = 4096

/** Random ids, drawn for many at once: a single one would cost more than the rest of a span. */
class RandomIds implements IdGenerator {
  readonly #pool = Buffer.allocUnsafe(POOL_BYTES)
  #used = POOL_BYTES

  generateTraceId(): string {
    return this.#next(TRACE_BYTES)
  }

  generateSpanId(): string {
    return this.#next(SPAN_BYTES)
  }

  #next(bytes: number): string {
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool)
      this.#used = 0
    }
    const id = this.#pool.toString('hex', this.#used, (this.#used += bytes))
    // An id of zeros is no id.
    return /[^0]/.test(id) ? id : this.#next(bytes)
  }
}
