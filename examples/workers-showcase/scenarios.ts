import { events } from './scenarios/events.ts'
import { flaky } from './scenarios/flaky.ts'
import { overrun } from './scenarios/overrun.ts'
import { sharedLimit } from './scenarios/shared-limit.ts'
import { siblings } from './scenarios/siblings.ts'
import { sources } from './scenarios/sources.ts'
import { throwing } from './scenarios/throwing.ts'
import { vacuum } from './scenarios/vacuum.ts'
import type { Scenario } from './stage.ts'

/** All eight, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  overrun,
  events,
  flaky,
  sources,
  sharedLimit,
  vacuum,
  throwing,
  siblings,
]
