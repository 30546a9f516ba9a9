// How names, numbers and histograms are written for Prometheus.

const MILLISECONDS = '_ms'

/** The name under which Prometheus knows a metric: in seconds, and with `_total` for a counter. */
export function nameOf(name: string, isCounter: boolean): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_:]/g, '_')
  const inSeconds = plain.endsWith(MILLISECONDS)
    ? `${plain.slice(0, -MILLISECONDS.length)}_seconds`
    : plain
  return isCounter ? `${inSeconds}_total` : inSeconds
}

/** By what a value is divided before it is written. */
export function scaleOf(name: string): number {
  return name.endsWith(MILLISECONDS) ? 1_000 : 1
}

/** A number as Prometheus reads it. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}

/** The value of a label, between double quotes. */
export function escapeLabel(value: string): string {
  if (!/["\\\n]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

// From a commit on a fast disk to a workflow that takes an hour.
const DURATIONS_MS = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
  3_600_000,
]
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500]

/** How often values were at most as large as each limit. */
export class Histogram {
  readonly #limits: readonly number[]
  readonly #scale: number
  /** One for each limit, and one for larger values; not cumulative. */
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(name: string) {
    this.#scale = scaleOf(name)
    this.#limits = this.#scale === 1 ? SIZES : DURATIONS_MS
    this.#counts = Array.from({ length: this.#limits.length + 1 }, () => 0)
  }

  record(value: number): void {
    let i = 0
    while (i < this.#limits.length && value > this.#limits[i]!) i++
    this.#counts[i]!++
    this.#sum += value
    this.#count++
  }

  /** Adds its lines. */
  render(name: string, labels: string, lines: string[]): void {
    const before = labels === '' ? '' : `${labels},`
    let total = 0
    for (const [i, limit] of this.#limits.entries()) {
      total += this.#counts[i]!
      lines.push(`${name}_bucket{${before}le="${formatNumber(limit / this.#scale)}"} ${total}`)
    }
    const own = labels === '' ? '' : `{${labels}}`
    lines.push(
      `${name}_bucket{${before}le="+Inf"} ${this.#count}`,
      `${name}_sum${own} ${formatNumber(this.#sum / this.#scale)}`,
      `${name}_count${own} ${this.#count}`,
    )
  }
}
