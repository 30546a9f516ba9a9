// What workers do all day, without an end.

import { setImmediate as nextRound } from 'node:timers/promises'
import { silentLog } from '../../src/base/log.ts'
import { notify } from '../../src/base/sync/notify.ts'
import { idle, proceed } from '../../src/workers/directive.ts'
import { supervise } from '../../src/workers/supervisor.ts'
import { worker } from '../../src/workers/worker.ts'
import type { WorkerOptions } from '../../src/workers/worker-options.ts'
import type { Load, NamedLoad, OpenLoad } from './watch.ts'

const FLAT_OUT = { min: 0, active: 0, step: 0 }

/** Passes of one worker, which listen to their signals, with a time limit or without. */
function passes(options: WorkerOptions): OpenLoad {
  return async () => {
    const wake = notify()
    const done = notify()
    let left = 0
    const it = worker(
      'passes',
      { wakeOn: [wake], pacing: FLAT_OUT, log: silentLog, ...options },
      async ({ signal, stopping }) => {
        if (signal.aborted || stopping.aborted) return idle()
        if (--left > 0) return proceed()
        done.notifyOne()
        return idle()
      },
    )
    return {
      async run(times) {
        left = times
        wake.notifyOne()
        await done.wait()
      },
      [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
    }
  }
}

/** Workers that come to a supervisor and end, each with a name of its own, or all with the same. */
function comingAndGoing(nameOf: (number: number) => string): OpenLoad {
  return async (): Promise<Load> => {
    const stay = worker('stays', { wakeOn: [notify()], log: silentLog }, async () => idle())
    const group = supervise([stay], { log: silentLog })
    let number = 0
    return {
      async run(times) {
        for (let i = 0; i < times; i++) {
          const wakeOn = [notify()]
          const it = worker(nameOf(++number), { wakeOn, log: silentLog }, async () => idle())
          group.add(it)
          await it.stop()
          if (i % 100 === 0) await nextRound()
        }
      },
      async [Symbol.asyncDispose]() {
        await group.stop()
      },
    }
  }
}

/** All loads on workers. */
export const WORKER_LOADS: readonly NamedLoad[] = [
  { name: 'passes of a worker', open: passes({}), share: 1, maxBytesEach: 64 },
  {
    name: 'passes of a worker with a time limit',
    open: passes({ timeout: '1m' }),
    share: 1,
    maxBytesEach: 64,
  },
  {
    name: 'workers with new names',
    open: comingAndGoing((number) => `worker ${number}`),
    share: 1 / 4,
    maxBytesEach: 100,
  },
  {
    name: 'workers with one name',
    open: comingAndGoing(() => 'worker'),
    share: 1 / 4,
    maxBytesEach: 100,
  },
]
