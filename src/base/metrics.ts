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
