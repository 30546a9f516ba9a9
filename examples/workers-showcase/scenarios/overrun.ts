import { idle, proceed, worker } from 'holdfast/workers'
import { HOUR, type Scenario, timeText } from '../stage.ts'

/** When each batch began, and when the worker had stopped. */
export interface Overrun {
  readonly begins: readonly number[]
  readonly endedMs: number
}

const WINDOW = 4 * HOUR
const BATCHES = [2 * HOUR, 5 * HOUR, 1 * HOUR]

export const overrun: Scenario<Overrun> = {
  contract: 'long_interval_worker_reschedules_when_work_exceeds_window',
  title: 'A batch that takes longer than its window',
  story: 'A beat every 4 h. The second batch needs 5 h, so its pass asks to go on at once.',

  async play({ clock, log, say, work }) {
    const begins: number[] = []
    const batches = worker('batches', { every: WINDOW, clock, log }, async () => {
      const ms = BATCHES[begins.length] ?? 0
      begins.push(clock.now())
      say('batches', ms === 0 ? 'nothing left' : `batch ${begins.length}, ${ms / HOUR} h of work`)
      await work(ms)
      return ms > WINDOW ? proceed() : idle()
    })

    await clock.advance('16h')
    await batches.stop()
    return { begins, endedMs: clock.now() }
  },

  check({ begins: [, , third = Infinity], endedMs }) {
    // The overrun ends at 13 h; the beat after it comes at 16 h.
    return {
      holds: third < 13.1 * HOUR && endedMs < 17 * HOUR,
      claim: `batch 3 begins right after the overrun, at ${timeText(third)}, not at the next beat`,
    }
  },
}
