import { idle, notify, worker } from 'holdfast/workers'
import { HOUR, type Scenario } from '../stage.ts'

/** When the worker ran, and when it had stopped. */
export interface Events {
  readonly runs: readonly number[]
  readonly endedMs: number
}

export const events: Scenario<Events> = {
  contract: 'event_driven_worker_ignores_long_poker_when_notified',
  title: 'Events wake a worker long before its safety net',
  story: 'A beat every 5 h for events that got lost; the events themselves come every hour.',

  async play({ clock, log, say }) {
    const runs: number[] = []
    const orders = notify()
    // Nothing waits yet: the notify keeps a permit, and the first run needs no beat.
    orders.notifyOne()
    const handler = worker('handler', { wakeOn: [orders], every: '5h', clock, log }, async () => {
      runs.push(clock.now())
      say('handler', `run ${runs.length}`)
      return idle()
    })

    for (const order of ['second', 'third']) {
      await clock.advance('1h')
      say('shop', `${order} order arrives`)
      orders.notifyOne()
    }
    await clock.advance('2h')
    await handler.stop()
    return { runs, endedMs: clock.now() }
  },

  check({ runs, endedMs }) {
    return {
      holds: runs.length === 3 && endedMs < 5 * HOUR,
      claim: `${runs.length} runs for 3 events within ${endedMs / HOUR} h, none by the beat`,
    }
  },
}
