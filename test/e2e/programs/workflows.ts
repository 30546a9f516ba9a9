import { effectsOn } from './effects.ts'
import { familiesOn } from './families.ts'
import { jobsOn } from './jobs.ts'
import { mailOn } from './mail.ts'

/** What every workflow here is given: `seed` decides how long things take, `n` how many there are. */
export interface Job {
  readonly seed: number
  readonly n: number
}

/**
 * The workflows of the rounds. Their outcome depends on their id and input alone, if the driving
 * process attends to those that need it.
 */
export function workflowsOn(ledger: string) {
  const effects = effectsOn(ledger)
  const families = familiesOn(effects)
  return { ...jobsOn(effects), ...families, ...mailOn(effects, families) }
}

/** The workflows that the rounds start. */
export const JOBS = [
  'sequence',
  'fan',
  'timers',
  'retries',
  'steps',
  'nap',
  'branches',
  'sessions',
  'family',
  'rounds',
  'cleans',
  'halts',
  'collect',
  'talks',
  'leaves',
  'desk',
] as const satisfies readonly (keyof ReturnType<typeof workflowsOn>)[]

/** One of them by name, to be started. */
export interface Start {
  readonly workflow: (typeof JOBS)[number] | 'hang'
  readonly id: string
  readonly input: Job | number
}
