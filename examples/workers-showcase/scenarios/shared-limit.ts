import { idle, notify, semaphore, supervise, worker } from 'holdfast/workers'
import { type Scenario, SECOND } from '../stage.ts'

/** How often all of them ran, and how many at once at most. */
export interface SharedLimit {
  readonly runs: number
  readonly mostAtOnce: number
  readonly stragglers: readonly string[]
}

export const sharedLimit: Scenario<SharedLimit> = {
  contract: 'parallel_workers_share_semaphore_and_notifier',
  title: 'Four workers, a database that takes two',
  story: 'Eight wake-ups, 5 s apart; those that come while all are busy become one.',

  async play({ clock, log, say, work }) {
    let runs = 0
    let running = 0
    let mostAtOnce = 0
    const rows = notify()
    const database = semaphore(2)
    const processors = ['one', 'two', 'three', 'four'].map((name) =>
      worker(name, { wakeOn: [rows], limit: { fixed: database }, clock, log }, async () => {
        runs++
        mostAtOnce = Math.max(mostAtOnce, ++running)
        say(name, `begins, ${running} at work`)
        await work(30 * SECOND)
        running--
        return idle()
      }),
    )
    const app = supervise(processors, { clock, log })

    for (let count = 0; count < 8; count++) {
      rows.notifyOne()
      await clock.advance('5s')
    }
    await clock.advance('260s')
    const { stragglers } = await app.stop()
    return { runs, mostAtOnce, stragglers }
  },

  check({ runs, mostAtOnce }) {
    return {
      holds: runs >= 4 && mostAtOnce <= 2,
      claim: `${runs} runs by 4 workers, never more than ${mostAtOnce} at once`,
    }
  },
}
