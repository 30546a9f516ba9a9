import { setImmediate, setTimeout } from 'node:timers/promises'

import { notify } from '../build/base/sync/notify.js'
import { semaphore } from '../build/base/sync/semaphore.js'
import { type Directive, idle, proceed } from '../build/workers/directive.js'
import { worker, type Worker } from '../build/workers/worker.js'
import type { WorkerOptions } from '../build/workers/worker-options.js'
import { quantile, rounded } from './figures.ts'
import { exposeGc } from './memory.ts'
import type { Row } from './table.ts'

const NO_DELAY = { min: 0, active: 0, step: 0 } as const

/** What a worker costs: per pass, per wake-up, and when it does nothing. */
export async function benchWorkers({ smoke }: { smoke: boolean }): Promise<Row[]> {
  // First, while nothing else has filled the heap or still uses the CPU.
  const waiting = await idleWorkers(smoke ? 500 : 10_000, smoke ? 20 : 2_000)
  const loop = await proceedLoop(smoke ? 1 : 25, smoke ? 20 : 1_000)
  const wakes = await wakeToRun(smoke ? 200 : 50_000)
  const rounds = smoke ? 1 : 7
  const passes = smoke ? 500 : 100_000
  return [
    ...loop,
    ...wakes,
    ...waiting,
    {
      what: 'notify_wakeup: an idle worker, woken again and again',
      value: await passRate(rounds, passes, notifyWakeup),
    },
    {
      what: 'semaphore_gated: proceed through a limit of 1',
      value: await passRate(rounds, passes, semaphoreGated),
    },
    {
      what: 'alternating: proceed and idle in turns',
      value: await passRate(rounds, passes, alternating),
    },
    {
      what: 'multi_notifier: idle, woken by 3 sources in turns',
      value: await passRate(rounds, passes, multiNotifier),
    },
  ]
}

/** A loop without delays, and how late it makes an unrelated 1 ms timer. */
async function proceedLoop(rounds: number, roundMs: number): Promise<Row[]> {
  const rates: number[] = []
  const late: number[] = []
  const bareLate: number[] = []
  const lateAtWorst: number[] = []
  const bareAtWorst: number[] = []
  // One round more, for the compiler.
  for (let round = 0; round <= rounds; round++) {
    // In turns with a loop that does nothing but let others run: what the machine does to a busy
    // process and its timers is no fault of the worker.
    const bare = await lateness(() => bareLoop(roundMs))
    let passes = 0
    const work = notify()
    const looping = worker('loop', { wakeOn: [work], pacing: NO_DELAY }, async () => {
      passes++
      return proceed()
    })
    const startMs = performance.now()
    work.notifyOne()
    const beside = await lateness(() => setTimeout(roundMs))
    const rate = (passes / (performance.now() - startMs)) * 1_000
    await looping.stop()
    if (round === 0) continue
    rates.push(rate)
    late.push(...beside)
    bareLate.push(...bare)
    lateAtWorst.push(Math.max(...beside))
    bareAtWorst.push(Math.max(...bare))
  }
  return [
    {
      what: 'proceed loop: passes a second, median round',
      value: rounded(quantile(rates, 0.5)),
      target: 'at least 200,000',
    },
    { what: 'proceed loop: passes a second, worst round', value: rounded(Math.min(...rates)) },
    {
      what: 'proceed loop: a 1 ms timer beside it is late, p99',
      value: `${quantile(late, 0.99).toFixed(1)} ms`,
    },
    {
      what: 'proceed loop: a 1 ms timer beside it is late, worst of the median round',
      value: `${quantile(lateAtWorst, 0.5).toFixed(1)} ms`,
      target: 'at most 5 ms',
    },
    {
      what: 'proceed loop: a 1 ms timer beside it is late, worst of all',
      value: `${Math.max(...lateAtWorst).toFixed(1)} ms`,
      target: 'at most 5 ms',
    },
    {
      what: 'proceed loop: beats of the timer more than 5 ms late',
      value: `${tooLate(late)} of ${rounded(late.length)}`,
    },
    {
      what: 'bare loop: beats of the timer more than 5 ms late',
      value: `${tooLate(bareLate)} of ${rounded(bareLate.length)}`,
    },
    {
      what: 'bare loop: the same timer is late, worst of the median round',
      value: `${quantile(bareAtWorst, 0.5).toFixed(1)} ms`,
    },
    {
      what: 'bare loop: the same timer is late, worst of all',
      value: `${Math.max(...bareAtWorst).toFixed(1)} ms`,
    },
  ]
}

const tooLate = (late: readonly number[]): number => late.filter((ms) => ms > 5).length

/** Keeps the process busy, and lets others run every millisecond. */
async function bareLoop(ms: number): Promise<void> {
  const endMs = performance.now() + ms
  while (performance.now() < endMs) {
    const turnEndMs = performance.now() + 1
    while (performance.now() < turnEndMs);
    await setImmediate()
  }
}

/** How late each beat of a 1 ms interval timer is while `during` lasts, in milliseconds. */
async function lateness(during: () => Promise<unknown>): Promise<number[]> {
  const late: number[] = []
  let lastMs = performance.now()
  const timer = setInterval(() => {
    const nowMs = performance.now()
    late.push(nowMs - lastMs - 1)
    lastMs = nowMs
  }, 1)
  await during()
  clearInterval(timer)
  // The time since the last beat counts too: a timer that never came would look punctual.
  late.push(Math.max(0, performance.now() - lastMs - 1))
  return late
}

/** From `notifyOne` to the first line of the pass. */
async function wakeToRun(samples: number): Promise<Row[]> {
  const micros: number[] = []
  let wokenMs = 0
  const work = notify()
  const sleeper = worker('sleeper', { wakeOn: [work] }, async () => {
    micros.push((performance.now() - wokenMs) * 1_000)
    return idle()
  })
  // The first ones measure the compiler.
  const warmUp = Math.ceil(samples / 10)
  for (let sample = 0; sample < samples + warmUp; sample++) {
    // A turn of the event loop, so that the worker has gone back to rest.
    await setImmediate()
    wokenMs = performance.now()
    work.notifyOne()
  }
  await setImmediate()
  await sleeper.stop()
  const warm = micros.slice(warmUp)
  return [
    {
      what: 'wake to run of an idle worker: p50',
      value: `${quantile(warm, 0.5).toFixed(1)} µs`,
      target: 'under 20 µs',
    },
    { what: 'wake to run of an idle worker: p99', value: `${quantile(warm, 0.99).toFixed(1)} µs` },
  ]
}

/** What many workers cost that wait for a notifier of their own. */
async function idleWorkers(count: number, idleMs: number): Promise<Row[]> {
  const collectGarbage = exposeGc()
  const cpuAlone = await cpuMs(idleMs)
  await collectGarbage()
  const before = process.memoryUsage().heapUsed
  const workers: Worker[] = []
  for (let number = 0; number < count; number++) {
    workers.push(worker(`idle-${number}`, { wakeOn: [notify()] }, async () => idle()))
  }
  await collectGarbage()
  const bytes = process.memoryUsage().heapUsed - before
  const cpu = await cpuMs(idleMs)
  await Promise.all(workers.map((one) => one.stop()))
  const seconds = idleMs / 1_000
  return [
    {
      what: 'idle workers: heap each, with a notifier each',
      value: `${rounded(bytes / count)} bytes`,
    },
    {
      what: `idle workers: CPU time used by ${rounded(count)} in ${seconds} s`,
      value: `${cpu.toFixed(1)} ms`,
      target: '0',
    },
    {
      what: `no workers: CPU time used by the process in ${seconds} s`,
      value: `${cpuAlone.toFixed(1)} ms`,
    },
  ]
}

/** Milliseconds of CPU that this process uses while it waits. */
async function cpuMs(waitMs: number): Promise<number> {
  // Compilation and garbage collection continue in the background for a moment after the work that
  // caused them.
  await setTimeout(Math.min(500, waitMs))
  const before = process.cpuUsage()
  await setTimeout(waitMs)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Sets up one kind of loop: `count` is called in each pass, and returns whether to continue. */
type Setup = (count: () => boolean) => {
  readonly options: WorkerOptions
  readonly pass: () => Promise<Directive>
  readonly start: () => void
}

/** Passes a second, the median of several rounds. */
async function passRate(rounds: number, passes: number, setup: Setup): Promise<string> {
  const rates: number[] = []
  // One round more, for the compiler.
  for (let round = 0; round <= rounds; round++) {
    let done = 0
    let finish!: () => void
    const finished = new Promise<void>((resolve) => (finish = resolve))
    const { options, pass, start } = setup(() => {
      if (++done === passes) finish()
      return done < passes
    })
    const measured = worker('measured', { ...options, pacing: NO_DELAY }, pass)
    const startMs = performance.now()
    start()
    await finished
    rates.push((passes / (performance.now() - startMs)) * 1_000)
    await measured.stop()
  }
  return `${rounded(quantile(rates.slice(1), 0.5))} passes/s`
}

// Those below that return `idle` wake themselves in a tick, which comes when all promises have run:
// the worker is in line at its notifiers by then. A `notifyOne` within the pass would only leave a
// permit.

const notifyWakeup: Setup = (count) => {
  const work = notify()
  const wake = (): void => work.notifyOne()
  const pass = async (): Promise<Directive> => {
    if (count()) process.nextTick(wake)
    return idle()
  }
  return { options: { wakeOn: [work] }, pass, start: wake }
}

const semaphoreGated: Setup = (count) => {
  const work = notify()
  const pass = async (): Promise<Directive> => (count() ? proceed() : idle())
  const options = { wakeOn: [work], limit: { fixed: semaphore(1) } }
  return { options, pass, start: () => work.notifyOne() }
}

const alternating: Setup = (count) => {
  const work = notify()
  const wake = (): void => work.notifyOne()
  let even = false
  const pass = async (): Promise<Directive> => {
    const more = count()
    even = !even
    if (more && even) return proceed()
    if (more) process.nextTick(wake)
    return idle()
  }
  return { options: { wakeOn: [work] }, pass, start: wake }
}

const multiNotifier: Setup = (count) => {
  const sources = [notify(), notify(), notify()]
  let next = 0
  const wake = (): void => sources[next++ % sources.length]!.notifyOne()
  const pass = async (): Promise<Directive> => {
    if (count()) process.nextTick(wake)
    return idle()
  }
  return { options: { wakeOn: sources }, pass, start: wake }
}
