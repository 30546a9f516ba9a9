import type { Logger } from './log.ts'
import { having } from './options.ts'
import { catchRejection } from './thenable.ts'

/**
 * Where measurements go. Nothing is measured, and nothing is spent, unless one is given.
 *
 * `holdfast/telemetry` has one for Prometheus and one for OpenTelemetry.
 */
export interface Metrics {
  /** Something happened, `by` times. */
  count(name: string, by: number, labels: Readonly<Record<string, string>>): void
  /** Something was measured: a duration in milliseconds when the name ends in `_ms`. */
  record(name: string, value: number, labels: Readonly<Record<string, string>>): void
  /** Something has this size now, which replaces the value before. Left out: sizes are not reported. */
  gauge?(name: string, value: number, labels: Readonly<Record<string, string>>): void
}

/** Checks an option that is a sink. */
export const metricsSink = having<Metrics>('a metrics sink', ['count', 'record'])

/**
 * The same sink, but one that throws or rejects does not affect its caller. Only its first error is
 * logged, since a broken sink would fill the log.
 */
export function harmless(sink: Metrics, log: Pick<Logger, 'error'>): Metrics {
  let hasComplained = false
  const complainOnce = (error: unknown): void => {
    if (hasComplained) return
    hasComplained = true
    log.error({ err: error }, 'a metrics sink threw; later errors are not logged')
  }
  const attempt = (report: () => unknown): void => {
    try {
      catchRejection(report(), complainOnce)
    } catch (error) {
      complainOnce(error)
    }
  }
  return {
    count: (name, by, labels) => attempt(() => sink.count(name, by, labels)),
    record: (name, value, labels) => attempt(() => sink.record(name, value, labels)),
    ...(sink.gauge !== undefined && {
      gauge: (name: string, value: number, labels: Readonly<Record<string, string>>) =>
        attempt(() => sink.gauge!(name, value, labels)),
    }),
  }
}
