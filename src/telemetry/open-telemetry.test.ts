import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openTelemetry } from './open-telemetry.ts'

const spans = new InMemorySpanExporter()
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({
  exporter: measured,
  exportIntervalMillis: 3_600_000,
})

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  )
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
})
afterEach(() => spans.reset())
afterAll(() => {
  api.context.disable()
  api.trace.disable()
  api.metrics.disable()
})

describe('tracing', () => {
  test('a span has the parent, the attributes and the times that it is given', () => {
    const { tracing } = openTelemetry(api)
    const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

    const span = tracing.start('turn', {
      kind: 'consumer',
      parent: `${parent} vendor=1`,
      links: [`00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`, 'not a context'],
      attributes: { a: 1 },
      startTime: 1_700_000_000_000,
    })
    span.end({ attributes: { b: 'two' } })

    const [reported] = spans.getFinishedSpans()
    expect(reported).toMatchObject({
      name: 'turn',
      kind: api.SpanKind.CONSUMER,
      attributes: { a: 1, b: 'two' },
      startTime: [1_700_000_000, 0],
      parentSpanContext: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isRemote: true },
      links: [{ context: { traceId: 'c'.repeat(32) } }],
      instrumentationScope: { name: 'holdfast' },
    })
    expect(span.context).toBe(`00-${'a'.repeat(32)}-${reported!.spanContext().spanId}-01 vendor=1`)
  })

  test('code that runs in a span finds it active, also after it waited', async () => {
    const { tracing } = openTelemetry(api)
    const span = tracing.start('outer', { kind: 'internal', parent: null, attributes: {} })

    const seen = await span.run(async () => {
      await Promise.resolve()
      return tracing.active()
    })

    expect(seen).toBe(span.context)
    expect(tracing.active()).toBeUndefined()
  })

  test('a span without a parent of its own is a child of the active one', () => {
    const { tracing } = openTelemetry(api)
    const outer = tracing.start('outer', { kind: 'internal', parent: null, attributes: {} })

    const inner = outer.run(() => tracing.start('inner', { kind: 'internal', attributes: {} }))
    inner.end()

    const [reported] = spans.getFinishedSpans()
    expect(outer.context).toContain(reported!.parentSpanContext!.spanId)
  })

  test('an error fails the span, and a span that does not end is not reported', () => {
    const { tracing } = openTelemetry(api)

    tracing.start('fails', { kind: 'internal', attributes: {} }).end({ error: new Error('no') })
    tracing.start('never ends', { kind: 'internal', attributes: {} })

    expect(spans.getFinishedSpans()).toMatchObject([
      {
        name: 'fails',
        status: { code: api.SpanStatusCode.ERROR, message: 'no' },
        events: [{ name: 'exception' }],
      },
    ])
  })

  test('anything but the API is refused, with what to pass', () => {
    expect(() => openTelemetry({} as never)).toThrow("import * as api from '@opentelemetry/api'")
  })
})

test('metrics become counters, histograms and gauges', async () => {
  const { metrics } = openTelemetry(api)

  metrics.count('started', 2, { workflow: 'a' })
  metrics.count('started', 1, { workflow: 'a' })
  metrics.record('commit_ms', 5, {})
  metrics.gauge('owned', 7, {})
  await reader.forceFlush()

  const found = measured
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  const values = found.map(({ descriptor, dataPoints }) => [
    descriptor.name,
    descriptor.unit,
    dataPoints.map(({ value }) =>
      typeof value === 'number' ? value : (value as { sum: number }).sum,
    ),
  ])
  expect(values).toEqual([
    ['started', '', [3]],
    ['commit_ms', 'ms', [5]],
    ['owned', '', [7]],
  ])
})
