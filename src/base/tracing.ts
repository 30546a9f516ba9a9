import type { Logger } from './log.ts'
import { having } from './options.ts'
import { catchRejection } from './thenable.ts'

/** What a span is about: `producer` and `consumer` are the two ends of something that is handed on. */
export type SpanKind = 'internal' | 'producer' | 'consumer'

/** What a span begins with. */
export interface SpanStart {
  readonly kind: SpanKind
  /** Its parent, as `Span.context` writes it; `null` for none. Left out: the active span. */
  readonly parent?: string | null
  /** Other spans that it follows from. */
  readonly links?: readonly string[]
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** When it began, in milliseconds since 1970. @default now */
  readonly startTime?: number
  /** The ids that it has to have. Only for a tracing that `choosesIds`. */
  readonly ids?: SpanIds
}

/** The ids of a span, as hexadecimal digits; that of its trace only if it has no parent. */
export interface SpanIds {
  readonly spanId: string
  readonly traceId?: string
}

/** How a span ends. */
export interface SpanEnd {
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** What went wrong: the span has failed. */
  readonly error?: unknown
}

/** Something that takes time. It is reported when it ends, and never if it does not. */
export interface Span {
  /** Where it is in its trace: the `traceparent` of W3C, then a space and the `tracestate`, if any. */
  readonly context: string
  /** Calls code for which it is the active span. */
  run<T>(code: () => T): T
  end(end?: SpanEnd): void
}

/** Where spans go. Nothing is traced, and nothing is spent, unless one is given. */
export interface Tracing {
  /**
   * Whether `start` heeds `ids`. Then spans of an instance are below a span for the instance, which is
   * reported when that ends, by whichever process it ends in. @default false
   */
  readonly choosesIds?: boolean
  /** The context of the active span, if there is one. */
  active(): string | undefined
  /** Begins a span. */
  start(name: string, start: SpanStart): Span
}

/** Checks an option that traces. */
export const tracingOption = having<Tracing>('a tracing', ['active', 'start'])

const UNTRACED: Span = { context: '', run: (code) => code(), end() {} }

/**
 * The same tracing, but one that throws or rejects does not affect its caller. Only its first error is
 * logged. Code that runs in a span is called exactly once, and its errors pass: they are not the
 * tracing's own.
 */
export function harmlessTracing(tracing: Tracing, log: Pick<Logger, 'error'>): Tracing {
  let hasComplained = false
  const complainOnce = (error: unknown): void => {
    if (hasComplained) return
    hasComplained = true
    log.error({ err: error }, 'tracing threw; later errors are not logged')
  }
  const attempt = <T>(ask: () => T, otherwise: T): T => {
    try {
      return ask()
    } catch (error) {
      complainOnce(error)
      return otherwise
    }
  }
  const runIn = <T>(span: Span, code: () => T): T => {
    const once = callOnce(code)
    try {
      span.run(once.call)
    } catch (error) {
      if (!once.hasThrown(error)) complainOnce(error)
    }
    return once.call()
  }
  return {
    choosesIds: tracing.choosesIds === true,
    active: () => attempt(() => tracing.active(), undefined),
    start: (name, start) => {
      const span = attempt(() => tracing.start(name, start), UNTRACED)
      if (span === UNTRACED) return span
      return {
        // Written only for those who pass it on.
        get context() {
          return attempt(() => span.context, '')
        },
        run: (code) => runIn(span, code),
        end: (end) => attempt(() => catchRejection(span.end(end), complainOnce), undefined),
      }
    },
  }
}

/** Calls code the first time, and repeats its outcome after that. */
function callOnce<T>(code: () => T): { call: () => T; hasThrown: (error: unknown) => boolean } {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined
  const settle = (): { readonly value: T } | { readonly error: unknown } => {
    try {
      return { value: code() }
    } catch (error) {
      return { error }
    }
  }
  return {
    call: () => {
      outcome ??= settle()
      if ('error' in outcome) throw outcome.error
      return outcome.value
    },
    hasThrown: (error) => outcome !== undefined && 'error' in outcome && outcome.error === error,
  }
}

/** The headers that carry the context of a span in a message. */
export function traceHeaders(context: string): Record<string, string> {
  const [traceparent, tracestate] = splitContext(context)
  return tracestate === '' ? { traceparent } : { traceparent, tracestate }
}

/** The context that headers carry, if any. */
export function contextOfHeaders(headers: Readonly<Record<string, string>>): string | undefined {
  const { traceparent, tracestate } = headers
  if (traceparent === undefined) return undefined
  return tracestate === undefined ? traceparent : `${traceparent} ${tracestate}`
}

/** The `traceparent` and the `tracestate` of a context; that is empty if there is none. */
export function splitContext(context: string): [traceparent: string, tracestate: string] {
  const space = context.indexOf(' ')
  return space < 0 ? [context, ''] : [context.slice(0, space), context.slice(space + 1)]
}
