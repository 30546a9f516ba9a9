// What is used of `@opentelemetry/api`, so that the package needs neither it nor its types.

/** Attributes of spans, and labels of metrics. */
export type ApiAttributes = Record<string, string | number | boolean>

/** Where a span is. */
export interface ApiSpanContext {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote?: boolean
  traceState?: { serialize(): string } & object
}

/** A span of OpenTelemetry. */
export interface ApiSpan {
  spanContext(): ApiSpanContext
  setAttributes(attributes: Readonly<ApiAttributes>): unknown
  recordException(error: Error): void
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** A counter of OpenTelemetry. */
export interface ApiCounter {
  add(value: number, attributes?: ApiAttributes): void
}

/** A histogram of OpenTelemetry. */
export interface ApiHistogram {
  record(value: number, attributes?: ApiAttributes): void
}

/** A gauge of OpenTelemetry. */
export interface ApiGauge {
  record(value: number, attributes?: ApiAttributes): void
}

/** What `openTelemetry` uses of `@opentelemetry/api`. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(
      name: string,
      version?: string,
    ): { startSpan(name: string, options?: object, context?: unknown): ApiSpan }
    getSpan(context: unknown): ApiSpan | undefined
    setSpan(context: unknown, span: ApiSpan): unknown
    setSpanContext(context: unknown, spanContext: ApiSpanContext): unknown
    getTracerProvider(): object
  }
  readonly context: {
    active(): unknown
    with<T>(context: unknown, code: () => T): T
  }
  readonly metrics: {
    getMeter(
      name: string,
      version?: string,
    ): {
      createCounter(name: string): ApiCounter
      createHistogram(name: string, options?: object): ApiHistogram
      createGauge?(name: string, options?: object): ApiGauge
    }
  }
  readonly ROOT_CONTEXT: unknown
  readonly SpanKind: {
    readonly INTERNAL: number
    readonly PRODUCER: number
    readonly CONSUMER: number
  }
  readonly SpanStatusCode: { readonly ERROR: number }
  createTraceState(text: string): { serialize(): string } & object
}
