import { notify, sleep, worker } from 'holdfast/workers'
import { HOUR, MINUTE, type Scenario } from '../stage.ts'

/** When each of the two swept. */
export interface Vacuum {
  readonly sleeping: readonly number[]
  readonly onBeat: readonly number[]
}

export const vacuum: Scenario<Vacuum> = {
  contract: 'vacuum_worker_self_schedules_via_sleep',
  title: 'A vacuum that sets its own alarm',
  story: 'No events at all. Each sweep asks to sleep 1 h; a beat of 10 min would cut that short.',

  async play({ clock, log, say }) {
    const sleeping: number[] = []
    const onBeat: number[] = []
    const start = notify()
    const vacuums = [
      worker('vacuum', { wakeOn: [start], clock, log }, async () => {
        sleeping.push(clock.now())
        say('vacuum', `sweep ${sleeping.length}, then sleep 1 h`)
        return sleep('1h')
      }),
      worker('restless', { every: '10m', clock, log }, async () => {
        onBeat.push(clock.now())
        return sleep('1h')
      }),
    ]

    await clock.advance('10m')
    start.notifyOne()
    await clock.advance(4 * HOUR - 10 * MINUTE)
    await Promise.all(vacuums.map((one) => one.stop()))
    say('restless', `swept ${onBeat.length} times, on every beat`)
    return { sleeping, onBeat }
  },

  check({ sleeping, onBeat }) {
    const hourly = sleeping.every((at, index) => at === sleeping[0]! + index * HOUR)
    return {
      holds: sleeping.length >= 3 && hourly && onBeat.length >= 3,
      claim: `${sleeping.length} sweeps in 4 h, exactly 1 h apart, with nobody waking it`,
    }
  },
}
