import { type Directive, idle, notify, proceed, sleep, worker } from 'holdfast/workers'
import { type Scenario, SECOND } from '../stage.ts'

/** When each worker ran: one retries by itself, the other when it is notified. */
export interface Flaky {
  readonly onTimer: readonly number[]
  readonly onNotifier: readonly number[]
}

const SCRIPT: readonly (() => Directive)[] = [
  timesOut,
  timesOut,
  timesOut,
  () => proceed(),
  timesOut,
  () => sleep('1h'),
]

export const flaky: Scenario<Flaky> = {
  contract: 'transient_errors_backoff_then_recover',
  title: 'Errors are waited out, and a success wipes the slate',
  story:
    'Two workers fail three times, succeed, fail again. "steady" retries when notified, every 5 s.',

  async play({ clock, log, say }) {
    const start = (name: string, retryOn: 'timer' | 'notifier') => {
      const runs: number[] = []
      const work = notify()
      const flakyWorker = worker(
        name,
        {
          wakeOn: [work],
          retryOn,
          backoff: { initial: '1s', max: '1h', multiplier: 2, jitter: 0 },
          pacing: { active: 0, min: 0, step: 0 },
          listeners: [
            {
              onComplete: (_ms, { next }) => say(name, `run ${runs.length} succeeds: ${next}`),
              onError: (_ms, error, _failures, backoffMs) =>
                say(name, `run ${runs.length} fails (${String(error)}), wait ${backoffMs} ms`),
            },
          ],
          clock,
          log,
        },
        async () => {
          runs.push(clock.now())
          return SCRIPT[runs.length - 1]?.() ?? idle()
        },
      )
      work.notifyOne()
      return { runs, work, worker: flakyWorker }
    }

    const quick = start('quick', 'timer')
    const steady = start('steady', 'notifier')
    for (let count = 0; count < 4; count++) {
      await clock.advance('5s')
      steady.work.notifyOne()
    }
    await clock.advance('10m')
    await quick.worker.stop()
    await steady.worker.stop()
    return { onTimer: quick.runs, onNotifier: steady.runs }
  },

  check({ onTimer, onNotifier }) {
    const lastMs = onTimer[5] ?? Infinity
    return {
      holds: onTimer.length === 6 && onNotifier.length === 6 && lastMs === 8 * SECOND,
      claim: `6 runs each; waits of 1, 2, 4 and again 1 s end at ${lastMs / SECOND} s`,
    }
  },
}

function timesOut(): never {
  throw new Error('database timeout')
}
