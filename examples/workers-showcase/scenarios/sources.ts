import { idle, notify, worker } from 'holdfast/workers'
import type { Scenario } from '../stage.ts'

/** When the worker ran. */
export interface Sources {
  readonly runs: readonly number[]
}

export const sources: Scenario<Sources> = {
  contract: 'multiple_notifiers_any_source_wakes_worker',
  title: 'Any of several sources wakes a worker',
  story: 'One worker listens to three sources; they fire one after the other.',

  async play({ clock, log, say }) {
    const runs: number[] = []
    const orders = notify()
    const refunds = notify()
    const returns = notify()
    const wakeOn = [orders, refunds, returns]
    const ledger = worker('ledger', { wakeOn, clock, log }, async () => {
      runs.push(clock.now())
      say('ledger', `run ${runs.length}`)
      return idle()
    })

    say('orders', 'fires')
    orders.notifyOne()
    const later = [
      ['refunds', refunds],
      ['returns', returns],
      ['orders', orders],
    ] as const
    for (const [name, source] of later) {
      await clock.advance('1h')
      say(name, 'fires')
      source.notifyOne()
    }
    await clock.advance('3h')
    await ledger.stop()
    return { runs }
  },

  check({ runs }) {
    return { holds: runs.length === 4, claim: `4 events of 3 sources, ${runs.length} runs` }
  },
}
