// Instances that start over again and again, with exact counts of what they did.

import { activity, type Instance, type Store, workflow } from '../../../src/index.ts'
import { eventsOf } from '../../support/histories.ts'
import { expectResult, runAtOnce } from '../load.ts'
import { judge, type Outcome } from '../outcome.ts'
import { type Result, type Scenario, withRuntime } from '../scenario.ts'

const LONGEST_WAIT = '60s'

interface Actors {
  readonly instances: number
  readonly executions: number
  /** What each execution does but the last, which only returns. */
  readonly activities: number
  readonly timers: number
}

const CHAINS: Actors = { instances: 20, executions: 10, activities: 1, timers: 0 }
const ACTORS: Actors = { instances: 3, executions: 50, activities: 4, timers: 1 }

const FULL = { CHAINS, ACTORS }
const SMOKE = {
  CHAINS: { ...CHAINS, instances: 3, executions: 3 },
  ACTORS: { ...ACTORS, instances: 2, executions: 4 },
}

/** Chains of executions, and actors that live on for many. */
export const EXECUTIONS: Scenario = {
  name: 'executions',
  what: '20 chains of 10 executions; 3 actors of 50, with 588 activities and 147 timers: exact counts',
  async play({ store }, size) {
    const results: Result[] = []
    for (const [part, actors] of Object.entries(size === 'smoke' ? SMOKE : FULL)) {
      const { outcome, timers } = await play(store, part.toLowerCase(), actors)
      const cycles = actors.instances * (actors.executions - 1)
      const findings = judge(outcome, { activities: cycles * actors.activities })
      if (timers !== cycles * actors.timers) {
        findings.push(`${timers} timers are recorded, wanted exactly ${cycles * actors.timers}`)
      }
      results.push({ part: part.toLowerCase(), outcome, findings })
    }
    return results
  },
}

async function play(
  store: Store,
  name: string,
  actors: Actors,
): Promise<{ outcome: Outcome; timers: number }> {
  const { instances, executions, activities, timers } = actors
  let ran = 0
  const act = activity('act', () => void ran++)
  const lives = workflow(name, async (execution: number, ctx): Promise<number> => {
    if (execution === executions) return execution
    for (let i = 0; i < activities; i++) await ctx.run(act)
    for (let i = 0; i < timers; i++) await ctx.sleep(10)
    return ctx.continueAsNew(execution + 1)
  })
  let recorded = 0
  const outcome = await withRuntime(store, { register: lives }, async (runtime) => {
    const all = await runAtOnce(instances, async (number) => {
      const instance = await runtime.start(lives, 1, { id: `${name}-${number}` })
      expectResult(await instance.result({ timeout: LONGEST_WAIT }), executions)
      expectResult((await instance.info())?.execution, executions)
    })
    for (let i = 0; i < instances; i++) recorded += await firedIn(runtime.get(`${name}-${i}`))
    return all
  })
  return { outcome: { ...outcome, activities: ran }, timers: recorded }
}

/** How many timers have fired in all executions of an instance. */
async function firedIn(instance: Instance): Promise<number> {
  const info = await instance.info()
  let fired = 0
  for (let execution = 1; execution <= (info?.execution ?? 0); execution++) {
    const events = await eventsOf(instance, { execution })
    fired += events.filter(({ type }) => type === 'fired').length
  }
  return fired
}
