import { type Backoff, type ResolvedBackoff, resolveBackoff } from '../base/time/backoff.ts'

/** A set of defaults for handlers. */
export type Profile = 'default' | 'low-latency' | 'high-throughput' | 'relaxed'

/** The names of all profiles. */
export const PROFILES: readonly Profile[] = ['default', 'low-latency', 'high-throughput', 'relaxed']

/** What a profile sets. */
export interface Tuning {
  /** The most messages of one partition that are read at once. */
  readonly batchSize: number
  /** How long to wait before a message is tried again. */
  readonly backoff: ResolvedBackoff
  /** After so many failures in a row, a partition is read in smaller batches. */
  readonly degradeAfter: number
  /** The delay between two passes of a worker: it begins at `active` and shrinks by `step` to `min`. */
  readonly pacing: { readonly min: number; readonly active: number; readonly step: number }
  /** How many batches of one partition are delivered before another partition has its turn. */
  readonly rounds: number
}

const FLAT_OUT = { min: 0, active: 0, step: 0 }

const retry = (initial: Backoff['initial'], max: Backoff['max']): ResolvedBackoff =>
  resolveBackoff('profile', { initial: initial!, max: max!, jitter: 0.2 })

const TUNINGS: Readonly<Record<Profile, Tuning>> = {
  default: {
    batchSize: 100,
    backoff: retry('1s', '1m'),
    degradeAfter: 2,
    pacing: FLAT_OUT,
    rounds: 8,
  },
  'low-latency': {
    batchSize: 10,
    backoff: retry('100ms', '10s'),
    degradeAfter: 3,
    pacing: FLAT_OUT,
    rounds: 8,
  },
  'high-throughput': {
    batchSize: 1_000,
    backoff: retry('1s', '1m'),
    degradeAfter: 2,
    pacing: FLAT_OUT,
    rounds: 8,
  },
  relaxed: {
    batchSize: 100,
    backoff: retry('5s', '5m'),
    degradeAfter: 1,
    // Leaves the database time for others: a worker reads at most ten times a second.
    pacing: { min: 100, active: 500, step: 50 },
    rounds: 8,
  },
}

/** What a profile sets. */
export function tuningOf(profile: Profile): Tuning {
  return TUNINGS[profile]
}
