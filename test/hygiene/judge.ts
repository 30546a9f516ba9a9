// Whether a run stayed as it began. Pure, so that the rules can be tried without a run.

/** What was measured over a stretch of time. */
export interface Sample {
  /** When it ended, in seconds from the start. */
  readonly atS: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly dead: number
  readonly bytes: number
  /** Whether something held back vacuum meanwhile. */
  readonly held: boolean
}

/** A question and its answer. */
export interface Verdict {
  readonly what: string
  readonly value: number
  readonly limit: number
  readonly met: boolean
}

/** How much later parts of a run may differ from its beginning. */
export interface Tolerance {
  /** Workflows a second: at least this share. */
  readonly speed: number
  /** Latency: at most this many times. */
  readonly latency: number
  /** Size of all tables: at most this many times. */
  readonly size: number
}

const FLAT: Tolerance = { speed: 0.75, latency: 2, size: 1.5 }
// While vacuum is held back, tables can only grow.
const GENTLE: Tolerance = { speed: 0.5, latency: 4, size: Infinity }
// Space that was allocated is used again, not returned.
const RECOVERED: Tolerance = { speed: 0.75, latency: 2, size: Infinity }

/**
 * Compares the beginning of a run with its end, and with the time while vacuum was held back. It begins
 * when the first instances are removed, after `retentionS`. Tables grow for some time after that, until
 * autovacuum has been there and what it freed is used again.
 */
export function judge(samples: readonly Sample[], retentionS: number): readonly Verdict[] {
  const begun = samples.filter(({ atS }) => atS > retentionS)
  const held = begun.filter((sample) => sample.held)
  const free = begun.filter((sample) => !sample.held)
  const [first, last] = ends(free)
  if (first.length === 0) return []
  const tolerance = held.length === 0 ? FLAT : RECOVERED
  const [grown, full] = ends(free.filter(({ atS }) => atS > 4 * retentionS))
  return [
    ...(held.length === 0 ? [] : pace('while held back', first, held, GENTLE)),
    ...pace('at the end', first, last, tolerance),
    ...(grown.length === 0 ? [] : size(grown, full, tolerance)),
  ]
}

/** The first two and the last two of them, or fewer, without any that is both. */
function ends(samples: readonly Sample[]): readonly [readonly Sample[], readonly Sample[]] {
  const count = Math.min(2, Math.floor(samples.length / 2))
  return count === 0 ? [[], []] : [samples.slice(0, count), samples.slice(-count)]
}

function pace(
  when: string,
  before: readonly Sample[],
  after: readonly Sample[],
  { speed, latency }: Tolerance,
): Verdict[] {
  const perSecond = ratio(before, after, (sample) => sample.perSecond)
  const p50 = ratio(before, after, (sample) => sample.p50Ms)
  const p99 = ratio(before, after, (sample) => sample.p99Ms)
  return [
    verdict(`workflows/s ${when}`, perSecond, speed, perSecond >= speed),
    verdict(`p50 ${when}`, p50, latency, p50 <= latency),
    verdict(`p99 ${when}`, p99, latency, p99 <= latency),
  ]
}

function size(
  before: readonly Sample[],
  after: readonly Sample[],
  { size: limit }: Tolerance,
): Verdict[] {
  const bytes = ratio(before, after, (sample) => sample.bytes)
  return Number.isFinite(limit) ? [verdict('size at the end', bytes, limit, bytes <= limit)] : []
}

function verdict(what: string, value: number, limit: number, met: boolean): Verdict {
  return { what: `${what}, beside the beginning`, value, limit, met }
}

function ratio(
  before: readonly Sample[],
  after: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return mean(after, of) / mean(before, of)
}

function mean(samples: readonly Sample[], of: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length
}
