// Metrics as Prometheus reads them: kept in memory, rendered as text when they are asked for.
//
//   - Names follow the conventions of Prometheus: counters end in `_total`, and what is measured in
//     milliseconds (`_ms`) is rendered in seconds.
//   - A series costs memory for as long as the process lives. Labels are names from code (workflows,
//     activities, topics, queues), never ids; a limit keeps a mistake from filling the memory.

import type { Metrics } from '../base/metrics.ts'
import { number, resolveOptions } from '../base/options.ts'
import { escapeLabel, formatNumber, nameOf, Histogram, scaleOf } from './prometheus-text.ts'

/** Options of a Prometheus sink. */
export interface PrometheusOptions {
  /** The most series: names with their labels. Further ones are dropped and counted. @default 10000 */
  maxSeries?: number
}

/** Metrics that are kept in memory and rendered for Prometheus. */
export interface Prometheus extends Metrics {
  gauge(name: string, value: number, labels: Readonly<Record<string, string>>): void
  /** The media type of `text()`, for the `content-type` header. */
  readonly contentType: string
  /** All metrics so far, in the text format of Prometheus. */
  text(): string
}

type Kind = 'counter' | 'gauge' | 'histogram'

/** All series of one name. */
interface Family {
  readonly kind: Kind
  /** By their labels as text; the value of a histogram is a `Histogram`. */
  readonly series: Map<string, number | Histogram>
}

/**
 * Creates a metrics sink that Prometheus can scrape: pass it as `metrics`, and answer requests for
 * `/metrics` with its `text()`.
 */
export function prometheus(options?: PrometheusOptions): Prometheus {
  const { maxSeries } = resolveOptions('prometheus', options, {
    maxSeries: number({ min: 1, integer: true }, 10_000),
  })
  return new PrometheusSink(maxSeries)
}

class PrometheusSink implements Prometheus {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly #families = new Map<string, Family>()
  readonly #maxSeries: number
  #size = 0
  #dropped = 0

  constructor(maxSeries: number) {
    this.#maxSeries = maxSeries
  }

  count(name: string, by: number, labels: Readonly<Record<string, string>>): void {
    // A counter never falls, and one that is not a number would stay so.
    if (!(by > 0) || by === Infinity) return
    const family = this.#family(name, 'counter')
    const key = keyOf(labels)
    const before = this.#series(family, key, () => 0)
    if (before !== undefined) family!.series.set(key, (before as number) + by)
  }

  record(name: string, value: number, labels: Readonly<Record<string, string>>): void {
    if (!Number.isFinite(value)) return
    const histogram = this.#series(
      this.#family(name, 'histogram'),
      keyOf(labels),
      () => new Histogram(name),
    )
    if (histogram !== undefined) (histogram as Histogram).record(value)
  }

  gauge(name: string, value: number, labels: Readonly<Record<string, string>>): void {
    const family = this.#family(name, 'gauge')
    const key = keyOf(labels)
    if (this.#series(family, key, () => 0) !== undefined) family!.series.set(key, value)
  }

  text(): string {
    const lines: string[] = []
    for (const [name, { kind, series }] of this.#families) {
      const shown = nameOf(name, kind === 'counter')
      lines.push(`# TYPE ${shown} ${kind}`)
      for (const [labels, value] of series) {
        if (value instanceof Histogram) value.render(shown, labels, lines)
        else lines.push(`${shown}${inBraces(labels)} ${formatNumber(value / scaleOf(name))}`)
      }
    }
    lines.push(
      '# TYPE holdfast_metrics_dropped_total counter',
      `holdfast_metrics_dropped_total ${this.#dropped}`,
    )
    return `${lines.join('\n')}\n`
  }

  /** `undefined` if the name has another kind: a text with both could not be read. */
  #family(name: string, kind: Kind): Family | undefined {
    let family = this.#families.get(name)
    if (family === undefined) this.#families.set(name, (family = { kind, series: new Map() }))
    return family.kind === kind ? family : undefined
  }

  /** The series of these labels; `undefined` when there is no room for it. */
  #series(
    family: Family | undefined,
    key: string,
    make: () => number | Histogram,
  ): number | Histogram | undefined {
    const known = family?.series.get(key)
    if (known !== undefined) return known
    if (family === undefined || this.#size >= this.#maxSeries) {
      this.#dropped++
      return undefined
    }
    const made = make()
    family.series.set(key, made)
    this.#size++
    return made
  }
}

/** Labels as Prometheus writes them, without the braces. */
function keyOf(labels: Readonly<Record<string, string>>): string {
  let key = ''
  for (const name in labels) {
    const value = labels[name]
    if (value !== undefined) key += `${key === '' ? '' : ','}${name}="${escapeLabel(value)}"`
  }
  return key
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
