import { resolveOptions } from '../base/options.ts'
import { type Duration, duration } from '../base/time/duration.ts'

/**
 * How fast a worker runs passes one after the other: slowly after a rest, then faster.
 *
 * All three at 0 means without any delay; other work of the process still gets its turn.
 */
export interface Pacing {
  /** The fastest pace. @default '10ms' */
  min?: Duration
  /** The pace right after a rest. @default '100ms' */
  active?: Duration
  /** Taken off the pace after every wait. @default '10ms' */
  step?: Duration
}

/** A `Pacing` with all defaults filled in. */
export interface ResolvedPacing {
  readonly minMs: number
  readonly activeMs: number
  readonly stepMs: number
}

/** Fills in and checks a pacing; `owner` begins the error message. */
export function resolvePacing(owner: string, given?: Pacing): ResolvedPacing {
  const { min, active, step } = resolveOptions(owner, given, {
    min: duration(10),
    active: duration(100),
    step: duration(10),
  })
  return { minMs: min, activeMs: active, stepMs: step }
}

/** The pace of one worker. */
export class Pace {
  readonly #pacing: ResolvedPacing
  #ms: number

  constructor(pacing: ResolvedPacing) {
    this.#pacing = pacing
    this.#ms = pacing.activeMs
  }

  /** The worker rests: its next pass begins slowly again. */
  rest(): void {
    this.#ms = this.#pacing.activeMs
  }

  /** The wait before the next pass; the one after it is a step shorter, down to `min`. */
  next(): number {
    const { minMs, stepMs } = this.#pacing
    const ms = this.#ms
    this.#ms = Math.max(ms - stepMs, minMs, 0)
    return ms
  }
}
