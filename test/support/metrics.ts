import type { Metrics } from '../../src/base/metrics.ts'

type Labels = Readonly<Record<string, string>>

/** A sink that remembers everything. */
export class MemoryMetrics implements Required<Metrics> {
  readonly counts: { name: string; by: number; labels: Labels }[] = []
  readonly records: { name: string; value: number; labels: Labels }[] = []
  readonly gauges: { name: string; value: number; labels: Labels }[] = []

  count(name: string, by: number, labels: Labels): void {
    this.counts.push({ name, by, labels })
  }

  record(name: string, value: number, labels: Labels): void {
    this.records.push({ name, value, labels })
  }

  gauge(name: string, value: number, labels: Labels): void {
    this.gauges.push({ name, value, labels })
  }

  /** The sum of a counter over all series that have these labels. */
  sum(name: string, labels: Labels = {}): number {
    return this.counts
      .filter((one) => one.name === name && hasLabels(one.labels, labels))
      .reduce((sum, { by }) => sum + by, 0)
  }

  /** The values that were recorded in series that have these labels. */
  values(name: string, labels: Labels = {}): number[] {
    return this.records
      .filter((one) => one.name === name && hasLabels(one.labels, labels))
      .map(({ value }) => value)
  }

  /** The latest value of a gauge. */
  latest(name: string): number | undefined {
    return this.gauges.findLast((one) => one.name === name)?.value
  }
}

function hasLabels(all: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => all[name] === value)
}
