// Metrics and spans for OpenTelemetry, through its API alone: the SDK and its exporters are yours.
//
// The API is passed in, not imported: so nothing is loaded without it, bundlers see your import, and any
// version fits that has these functions.

import type { Metrics } from '../base/metrics.ts'
import { option, resolveOptions } from '../base/options.ts'
import { splitContext, type Span, type SpanKind, type Tracing } from '../base/tracing.ts'
import { VERSION } from '../base/version.ts'
import type {
  ApiCounter,
  ApiGauge,
  ApiHistogram,
  ApiSpan,
  ApiSpanContext,
  OpenTelemetryApi,
} from './open-telemetry-api.ts'
import { type HoldfastIdGenerator, isIdGenerator, withIds } from './span-ids.ts'

/** What `open` and `connect` take as options of the same names. */
export interface OpenTelemetry {
  readonly metrics: Required<Metrics>
  readonly tracing: Tracing
}

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /**
   * What `idGenerator()` returned, and the SDK was given as well: then spans of an instance are below a
   * span of their own. @default none: they are below the span that started it
   */
  idGenerator?: HoldfastIdGenerator
}

const SCOPE = 'holdfast'

/**
 * Metrics and traces for OpenTelemetry: `open(store, { register, ...openTelemetry(api) })`, with `api`
 * from `import * as api from '@opentelemetry/api'`.
 */
export function openTelemetry(
  api: OpenTelemetryApi,
  options?: OpenTelemetryOptions,
): OpenTelemetry {
  if (typeof api?.trace?.getTracer !== 'function' || typeof api.context?.with !== 'function') {
    throw new TypeError(
      "openTelemetry: pass the API of OpenTelemetry: import * as api from '@opentelemetry/api'",
    )
  }
  const { idGenerator } = resolveOptions('openTelemetry', options, {
    idGenerator: option(checkIdGenerator, undefined),
  })
  return { metrics: metricsOf(api), tracing: tracingOf(api, idGenerator) }
}

function checkIdGenerator(given: unknown, what: string): HoldfastIdGenerator {
  if (isIdGenerator(given)) return given
  throw new TypeError(`${what} must be what idGenerator() of holdfast/telemetry returned`)
}

function metricsOf(api: OpenTelemetryApi): Required<Metrics> {
  // Asked for on first use: a meter from before the SDK was registered would measure nothing.
  let meter: ReturnType<OpenTelemetryApi['metrics']['getMeter']> | undefined
  const getMeter = () => (meter ??= api.metrics.getMeter(SCOPE, VERSION))
  const counters = new Map<string, ApiCounter>()
  const histograms = new Map<string, ApiHistogram>()
  const gauges = new Map<string, ApiGauge | undefined>()
  return {
    count(name, by, labels) {
      let counter = counters.get(name)
      if (counter === undefined) counters.set(name, (counter = getMeter().createCounter(name)))
      counter.add(by, labels)
    },
    record(name, value, labels) {
      let histogram = histograms.get(name)
      if (histogram === undefined) {
        histograms.set(name, (histogram = getMeter().createHistogram(name, unitOf(name))))
      }
      histogram.record(value, labels)
    },
    gauge(name, value, labels) {
      // Earlier versions of the API have none.
      if (!gauges.has(name)) gauges.set(name, getMeter().createGauge?.(name, unitOf(name)))
      gauges.get(name)?.record(value, labels)
    },
  }
}

function unitOf(name: string): { readonly unit?: string } {
  return name.endsWith('_ms') ? { unit: 'ms' } : {}
}

function tracingOf(api: OpenTelemetryApi, generator: HoldfastIdGenerator | undefined): Tracing {
  const { trace, context, ROOT_CONTEXT, SpanStatusCode } = api
  const kinds: Readonly<Record<SpanKind, number>> = {
    internal: api.SpanKind.INTERNAL,
    producer: api.SpanKind.PRODUCER,
    consumer: api.SpanKind.CONSUMER,
  }
  const tracer = trace.getTracer(SCOPE, VERSION)
  const contextOf = (parent: string | null | undefined): unknown => {
    if (parent === undefined) return context.active()
    const read = parent === null ? undefined : readContext(api, parent)
    return read === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, read)
  }
  const active = (): string | undefined => {
    const span = trace.getSpan(context.active())
    return span && writeContext(span.spanContext())
  }
  // A tracer that has once found the SDK keeps it.
  let hasSdk = false
  return {
    choosesIds: generator !== undefined,
    active,
    start(name, { kind, parent, links = NONE, attributes, startTime, ids }): Span {
      if (!(hasSdk ||= findsSdk(api))) return unrecorded(parent === undefined ? active() : parent)
      const within = contextOf(parent)
      const linked = links.flatMap((link) => readContext(api, link) ?? [])
      const options = {
        kind: kinds[kind],
        attributes,
        ...(linked.length > 0 && { links: linked.map((one) => ({ context: one })) }),
        ...(startTime !== undefined && { startTime }),
      }
      const begin = (): ApiSpan => tracer.startSpan(name, options, within)
      const span = ids && generator ? withIds(generator, ids, begin) : begin()
      if (ids && generator && span.spanContext().spanId !== ids.spanId) throw notGiven()
      return {
        get context() {
          return writeContext(span.spanContext()) ?? ''
        },
        run: (code) => context.with(trace.setSpan(within, span), code),
        end(end) {
          if (end?.attributes !== undefined) span.setAttributes(end.attributes)
          if (end?.error !== undefined) fail(span, end.error, SpanStatusCode.ERROR)
          span.end()
        },
      }
    },
  }
}

const NONE: readonly string[] = []

/** Whether an SDK is registered. Until then spans go nowhere, and nothing is spent on them. */
function findsSdk({ trace }: OpenTelemetryApi): boolean {
  const provider: { getDelegateTracer?(name: string, version: string): unknown } =
    trace.getTracerProvider()
  // One that is no proxy for an SDK that may come later is the SDK.
  return (
    provider.getDelegateTracer?.(SCOPE, VERSION) !== undefined || !('getDelegateTracer' in provider)
  )
}

/** A span that is not recorded. What it starts goes on with the trace that it would be in. */
function unrecorded(parent: string | null | undefined): Span {
  return { context: parent ?? '', run: (code) => code(), end() {} }
}

function notGiven(): Error {
  return new Error(
    'openTelemetry: the SDK does not use the idGenerator that was passed; pass it to both: ' +
      'new NodeSDK({ idGenerator })',
  )
}

function fail(span: ApiSpan, error: unknown, code: number): void {
  const shown = error instanceof Error ? error : new Error(String(error))
  span.recordException(shown)
  span.setStatus({ code, message: shown.message })
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_ID = /^0+$/

/** The context as W3C writes it; `undefined` for one that is not valid, such as that of no SDK. */
function writeContext(spanContext: ApiSpanContext): string | undefined {
  const { traceId, spanId, traceFlags, traceState } = spanContext
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return `00-${traceId}-${spanId}-${flags}${state === '' ? '' : ` ${state}`}`
}

/** The context of another span; `undefined` if it cannot be read. */
function readContext(api: OpenTelemetryApi, text: string): ApiSpanContext | undefined {
  const [traceparent, tracestate] = splitContext(text)
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== '' && { traceState: api.createTraceState(tracestate) }),
  }
}
