// Which faults a run has: drawn from its seed, and reduced to those that a failure needs.

import type { Random } from '../../engine/context/random.ts'

/** What can go wrong. */
export type FaultKind = 'crash' | 'freeze' | 'lost-hint' | 'duplicate' | 'delay'

/** All of them. */
export const FAULT_KINDS = [
  'crash',
  'freeze',
  'lost-hint',
  'duplicate',
  'delay',
] as const satisfies readonly FaultKind[]

/** A fault. What it does is decided where it strikes, since not everything can happen everywhere. */
export interface Fault {
  /** The number of the point where it strikes, from 1. */
  readonly point: number
  /** Selects what happens there, from 0 to 1. */
  readonly choice: number
  /** How long it lasts, from 0 to 1. */
  readonly length: number
}

// Five deaths of its owners suspend an instance: a run stays below that.
const MAX_FAULTS = 4

/** Draws the faults of a run. `points` is how many points there are in a run without faults. */
export function drawFaults(random: Random, points: number): readonly Fault[] {
  const count = 1 + Math.floor(random.number() * MAX_FAULTS)
  const drawn = Array.from({ length: count }, () => ({
    // What faults cause has points of its own, behind those that are known.
    point: 1 + Math.floor(random.number() * (points + count)),
    choice: random.number(),
    length: random.number(),
  }))
  return [...new Map(drawn.map((fault) => [fault.point, fault])).values()]
}

/** Leaves out faults for as long as the rest still fails. `fails` answers with what it found, if so. */
export async function shrink<Failure>(
  faults: readonly Fault[],
  failure: Failure,
  fails: (faults: readonly Fault[]) => Promise<Failure | undefined>,
): Promise<Failure> {
  for (const fault of faults) {
    const fewer = faults.filter((other) => other !== fault)
    const smaller = await fails(fewer)
    if (smaller !== undefined) return shrink(fewer, smaller, fails)
  }
  return failure
}
