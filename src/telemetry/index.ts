// The public entry `holdfast/telemetry`: where measurements and spans go.

export type { Metrics } from '../base/metrics.ts'
export type { Span, SpanEnd, SpanIds, SpanKind, SpanStart, Tracing } from '../base/tracing.ts'
export { openTelemetry, type OpenTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts'
export type {
  ApiAttributes,
  ApiCounter,
  ApiGauge,
  ApiHistogram,
  ApiSpan,
  ApiSpanContext,
  OpenTelemetryApi,
} from './open-telemetry-api.ts'
export { idGenerator, type HoldfastIdGenerator, type IdGenerator } from './span-ids.ts'
export { prometheus, type Prometheus, type PrometheusOptions } from './prometheus.ts'
export { reportStats, type StoreStats } from './report-stats.ts'
