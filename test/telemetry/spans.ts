import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  type IdGenerator,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll } from 'vitest'

/** The spans of this process that have ended, in the order of their ends. */
export const exporter = new InMemorySpanExporter()

/** Registers the SDK of OpenTelemetry for the tests of a file. */
export function traceThisFile(idGenerator?: IdGenerator): void {
  beforeAll(() => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    api.trace.setGlobalTracerProvider(
      new BasicTracerProvider({
        spanProcessors: [new SimpleSpanProcessor(exporter)],
        ...(idGenerator !== undefined && { idGenerator }),
      }),
    )
  })
  afterEach(() => exporter.reset())
  afterAll(() => {
    api.context.disable()
    api.trace.disable()
  })
}

/** The spans that have ended, as `name < name of its parent`, sorted. */
export function spanLines(): string[] {
  const spans = exporter.getFinishedSpans()
  const nameOf = (id: string | undefined): string =>
    id === undefined
      ? 'nothing'
      : (spans.find((span) => span.spanContext().spanId === id)?.name ?? 'unknown')
  return spans.map((span) => `${span.name} < ${nameOf(span.parentSpanContext?.spanId)}`).toSorted()
}

/** The names of the spans that this one is linked to. */
export function linksOf(span: ReadableSpan | undefined): string[] {
  const spans = exporter.getFinishedSpans()
  const ids = span?.links.map(({ context }) => context.spanId) ?? []
  return ids.map((id) => spans.find((one) => one.spanContext().spanId === id)?.name ?? 'unknown')
}

/** The traces of these spans, each once. */
export function tracesOf(spans: readonly ReadableSpan[]): readonly string[] {
  return [...new Set(spans.map((span) => span.spanContext().traceId))]
}

/** Calls code in a span of the user. */
export function inSpan<T>(name: string, code: () => Promise<T>): Promise<T> {
  return api.trace.getTracer('test').startActiveSpan(name, async (span) => {
    try {
      return await code()
    } finally {
      span.end()
    }
  })
}
