import { idle, supervise, worker } from 'holdfast/workers'
import type { Scenario } from '../stage.ts'

/** How often each ran, which of them died, and their health before the stop. */
export interface Siblings {
  readonly runs: Readonly<Record<'clumsy' | 'doomed' | 'good', number>>
  readonly deaths: readonly string[]
  readonly statesBeforeStop: readonly string[]
}

export const siblings: Scenario<Siblings> = {
  contract: 'panicking_worker_does_not_kill_siblings',
  title: 'One falls, the others go on',
  story: '"clumsy" throws once and retries, "doomed" dies of it and is restarted, "good" is good.',

  async play({ clock, log, say }) {
    const runs = { clumsy: 0, doomed: 0, good: 0 }
    const deaths: string[] = []
    const start = (name: keyof typeof runs, onThrow: 'retry' | 'propagate') =>
      worker(name, { every: '1s', onThrow, backoff: { jitter: 0 }, clock, log }, async () => {
        const first = runs[name]++ === 0
        if (first || name === 'good') say(name, `run ${runs[name]}`)
        if (first && name !== 'good') throw new Error('cannot read the first row')
        return idle()
      })
    const workers = [start('clumsy', 'retry'), start('doomed', 'propagate'), start('good', 'retry')]
    const app = supervise(workers, {
      onDeath: (health) => deaths.push(health.name),
      clock,
      log,
    })

    await clock.advance('10s')
    const statesBeforeStop = app.health().map((health) => health.state)
    await app.stop()
    return { runs, deaths, statesBeforeStop }
  },

  check({ runs, deaths }) {
    return {
      holds: runs.clumsy > 1 && runs.doomed > 1 && runs.good >= 1 && deaths.length === 1,
      claim: `runs: ${runs.clumsy}, ${runs.doomed}, ${runs.good}; only ${deaths.join()} died, and it is back`,
    }
  },
}
