import { having } from './options.ts'
import { catchRejection } from './thenable.ts'

/**
 * Where measurements go. Nothing is measured, and nothing is spent, unless one is given.
 *
 * Three lines adapt it to Prometheus or OpenTelemetry: a counter, a histogram.
 */
export interface Metrics {
  /** Something happened, `by` times. */
  count(name: string, by: number, labels: Readonly<Record<string, string>>): void
  /** Something was measured: a duration in milliseconds when the name ends in `_ms`. */
  record(name: string, value: number, labels: Readonly<Record<string, string>>): void
}

/** Checks an option that is a sink. */
export const metricsSink = having<Metrics>('a metrics sink', ['count', 'record'])

/**
 * The same sink, except that it harms nobody when it throws, or rejects: `complain` is told of its
 * first mistake. Of that alone, as a broken sink would fill the log.
 */
export function harmless(sink: Metrics, complain: (error: unknown) => void): Metrics {
  let hasComplained = false
  const complainOnce = (error: unknown): void => {
    if (hasComplained) return
    hasComplained = true
    complain(error)
  }
  const attempt = (tell: () => unknown): void => {
    try {
      catchRejection(tell(), complainOnce)
    } catch (error) {
      complainOnce(error)
    }
  }
  return {
    count: (name, by, labels) => attempt(() => sink.count(name, by, labels)),
    record: (name, value, labels) => attempt(() => sink.record(name, value, labels)),
  }
}
