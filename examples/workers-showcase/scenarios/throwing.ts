import { idle, worker } from 'holdfast/workers'
import type { Scenario } from '../stage.ts'

/** When the worker ran, and how it was doing at the end. */
export interface Throwing {
  readonly runs: readonly number[]
  readonly endState: string
}

export const throwing: Scenario<Throwing> = {
  contract: 'panicking_worker_recovers_and_keeps_running',
  title: 'A bug in a pass is an error, not the end',
  story: 'A beat every second. The first pass throws a TypeError that nobody expected.',

  async play({ clock, log, say }) {
    const runs: number[] = []
    const parser = worker(
      'parser',
      {
        every: '1s',
        backoff: { jitter: 0 },
        listeners: [{ onError: (_ms, error) => say('parser', String(error)) }],
        clock,
        log,
      },
      async () => {
        runs.push(clock.now())
        if (runs.length === 1) throw new TypeError('row is undefined')
        say('parser', `run ${runs.length}`)
        return idle()
      },
    )

    await clock.advance('10s')
    await parser.stop()
    // Would reject had the worker died.
    await parser.done
    return { runs, endState: parser.health().state }
  },

  check({ runs, endState }) {
    return {
      holds: runs.length > 1 && endState === 'stopped',
      claim: `${runs.length - 1} good runs after the throw; the worker ends as "${endState}"`,
    }
  },
}
