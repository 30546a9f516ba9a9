import type { OpenPlace, Result, Scenario, Size } from './scenario.ts'
import { EXECUTIONS } from './scenarios/executions.ts'
import { FAMILIES } from './scenarios/families.ts'
import { FAN_OUTS, POOL_LIMITS, SLOTS, STABILITY } from './scenarios/fan-out.ts'
import { MIXED } from './scenarios/mixed.ts'
import { PAYLOADS } from './scenarios/payloads.ts'
import { STATE } from './scenarios/state.ts'
import { TIMERS } from './scenarios/timers.ts'

/** All there are, in the order in which they are played. */
export const SCENARIOS: readonly Scenario[] = [
  ...FAN_OUTS,
  POOL_LIMITS,
  SLOTS,
  PAYLOADS,
  FAMILIES,
  EXECUTIONS,
  STATE,
  TIMERS,
  MIXED,
  STABILITY,
]

/** What one scenario came to on one store. */
export interface Played {
  readonly scenario: Scenario
  readonly results: readonly Result[]
  /** Why it was not played. */
  readonly skipped?: string
}

/** Plays one scenario in a place of its own. What it throws is a finding like any other. */
export async function play(scenario: Scenario, openPlace: OpenPlace, size: Size): Promise<Played> {
  try {
    await using place = await openPlace()
    const played = await scenario.play(place, size)
    if ('skipped' in played) return { scenario, results: [], skipped: played.skipped }
    return { scenario, results: played }
  } catch (error) {
    const findings = [error instanceof Error ? (error.stack ?? error.message) : String(error)]
    const outcome = { started: 0, failures: [], seconds: 1, tookMs: [], endedMs: [] }
    return { scenario, results: [{ outcome, findings }] }
  }
}
