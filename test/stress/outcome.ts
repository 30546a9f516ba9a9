import { quantile } from '../../bench/figures.ts'

/** What a load came to. */
export interface Outcome {
  readonly started: number
  /** What went wrong with instances, a line each: they failed, were late, or returned nonsense. */
  readonly failures: readonly string[]
  readonly seconds: number
  /** Milliseconds from the start to the result in the client's hands, for each completed instance. */
  readonly tookMs: readonly number[]
  /** When each of them was completed, in milliseconds from the beginning. */
  readonly endedMs: readonly number[]
  /** How many activities ran; `undefined` if they are not counted. */
  readonly activities?: number
}

/** What is asked of an outcome. */
export interface Criteria {
  /** How many of those that were started have to complete. */
  readonly completedShare?: number
  readonly leastPerSecond?: number
  /** Exactly this many activities: none is lost, and none runs twice where nothing crashes. */
  readonly activities?: number
}

/** Which of the criteria were not met. By default, everything that was started has to complete. */
export function judge(outcome: Outcome, criteria: Criteria = {}): string[] {
  const { started, tookMs, failures, activities } = outcome
  const { completedShare = 1, leastPerSecond = 0 } = criteria
  const findings: string[] = []
  if (started === 0) findings.push('nothing was started')
  if (tookMs.length < started * completedShare) {
    findings.push(`${tookMs.length} of ${started} completed, wanted ${completedShare * 100} %`)
  }
  for (const failure of new Set(failures.slice(0, 5))) findings.push(failure)
  if (perSecond(outcome) < leastPerSecond) {
    findings.push(
      `${perSecond(outcome).toFixed(1)} instances/s, wanted at least ${leastPerSecond.toFixed(1)}`,
    )
  }
  if (criteria.activities !== undefined && activities !== criteria.activities) {
    findings.push(`${activities} activities ran, wanted exactly ${criteria.activities}`)
  }
  return findings
}

/** Completed instances per second. */
export function perSecond({ tookMs, seconds }: Outcome): number {
  return tookMs.length / seconds
}

/** That part of an outcome which ended between two shares of its time. */
export function stretch(outcome: Outcome, from: number, to: number): Outcome {
  const { endedMs, tookMs, seconds } = outcome
  const within = endedMs.flatMap((ms, i) => {
    const share = ms / 1_000 / seconds
    return share >= from && share < to ? [i] : []
  })
  return {
    started: within.length,
    failures: [],
    seconds: seconds * (to - from),
    tookMs: within.map((i) => tookMs[i]!),
    endedMs: within.map((i) => endedMs[i]!),
  }
}

/** The columns of `cellsOf`. */
export const COLUMNS = ['ok', 'inst/s', 'act/s', 'p50 ms', 'p95 ms', 'p99 ms', 'max ms'] as const

/** An outcome for people. */
export function cellsOf(outcome: Outcome): string[] {
  const { started, tookMs, seconds, activities } = outcome
  const at = (share: number): string =>
    tookMs.length === 0 ? '–' : quantile(tookMs, share).toFixed(1)
  return [
    `${tookMs.length}/${started}`,
    perSecond(outcome).toFixed(1),
    activities === undefined ? '–' : (activities / seconds).toFixed(1),
    at(0.5),
    at(0.95),
    at(0.99),
    tookMs.length === 0 ? '–' : Math.max(...tookMs).toFixed(1),
  ]
}
