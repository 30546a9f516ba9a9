import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scenarios } from './scenarios.ts'
import { events } from './scenarios/events.ts'
import { flaky } from './scenarios/flaky.ts'
import { overrun } from './scenarios/overrun.ts'
import { sharedLimit } from './scenarios/shared-limit.ts'
import { siblings } from './scenarios/siblings.ts'
import { sources } from './scenarios/sources.ts'
import { throwing } from './scenarios/throwing.ts'
import { vacuum } from './scenarios/vacuum.ts'
import { HOUR, MINUTE, openStage, SECOND } from './stage.ts'

test('a pass that overran its window is followed at once by the next one, not by the next beat [long_interval_worker_reschedules_when_work_exceeds_window]', async () => {
  const { begins, endedMs } = await overrun.play(openStage())

  // The overrun ends at 13 h, and the pace after a rest is 100 ms.
  expect(begins.slice(0, 3)).toEqual([4 * HOUR, 8 * HOUR, 13 * HOUR + 100])
  expect(endedMs).toBeLessThan(17 * HOUR)
})

test('events wake a worker without its long beat [event_driven_worker_ignores_long_poker_when_notified]', async () => {
  const { runs, endedMs } = await events.play(openStage())

  expect(runs).toEqual([0, 1 * HOUR, 2 * HOUR])
  expect(endedMs).toBeLessThan(5 * HOUR)
})

test('errors are backed off, a success resets the backoff, and the worker recovers [transient_errors_backoff_then_recover]', async () => {
  const { onNotifier } = await flaky.play(openStage())

  expect(onNotifier).toEqual([0, 5, 10, 15, 15, 20].map((at) => at * SECOND))
})

test('a failed worker comes back by itself when its backoff ends', async () => {
  const { onTimer } = await flaky.play(openStage())

  expect(onTimer).toEqual([0, 1, 3, 7, 7, 8].map((at) => at * SECOND))
})

test('each of three sources wakes the worker [multiple_notifiers_any_source_wakes_worker]', async () => {
  const { runs } = await sources.play(openStage())

  expect(runs).toEqual([0, 1 * HOUR, 2 * HOUR, 3 * HOUR])
})

test('workers that share a notifier and a semaphore all run, two at a time [parallel_workers_share_semaphore_and_notifier]', async () => {
  const { runs, mostAtOnce, stragglers } = await sharedLimit.play(openStage())

  expect(runs).toBeGreaterThanOrEqual(4)
  expect(mostAtOnce).toBe(2)
  expect(stragglers).toEqual([])
})

test('a worker that only sleeps wakes itself, and a beat cuts its sleep short [vacuum_worker_self_schedules_via_sleep]', async () => {
  const { sleeping, onBeat } = await vacuum.play(openStage())

  expect(sleeping).toEqual([10, 70, 130, 190].map((at) => at * MINUTE))
  expect(onBeat).toEqual(Array.from({ length: 24 }, (_, index) => (index + 1) * 10 * MINUTE))
})

test('a worker whose pass threw keeps running and ends cleanly [panicking_worker_recovers_and_keeps_running]', async () => {
  const { runs, endState } = await throwing.play(openStage())

  expect(runs.slice(0, 3)).toEqual([1 * SECOND, 1 * SECOND + 100, 2 * SECOND])
  expect(endState).toBe('stopped')
})

test('a worker that throws, or dies, leaves its siblings alone and comes back [panicking_worker_does_not_kill_siblings]', async () => {
  const { runs, deaths, statesBeforeStop } = await siblings.play(openStage())

  // The one that failed at its first beat has one run more: the retry between two beats.
  expect(runs).toEqual({ clumsy: 11, doomed: 11, good: 10 })
  expect(deaths).toEqual(['doomed'])
  expect(statesBeforeStop).toEqual(['idle', 'idle', 'idle'])
})

test('every scenario is in the list, and keeps what it claims', async () => {
  expect(new Set(scenarios.map((scenario) => scenario.contract)).size).toBe(8)
  for (const scenario of scenarios) {
    expect(scenario.check(await scenario.play(openStage()))).toMatchObject({ holds: true })
  }
})

test('the showcase runs from start to end, without colours when piped, and exits with 0', async () => {
  const tsx = fileURLToPath(import.meta.resolve('tsx/cli'))
  const main = fileURLToPath(new URL('main.ts', import.meta.url))

  const { stdout, stderr } = await promisify(execFile)(process.execPath, [tsx, main])

  const checks = stdout.split('\n').filter((line) => line.trimStart().startsWith('✓'))
  expect(checks).toHaveLength(8)
  for (const scenario of scenarios) expect(stdout).toContain(scenario.contract)
  expect(stdout).toContain('All 8 scenarios went as expected.')
  expect(stdout).toContain('mailer is stopped')
  expect(stdout).not.toContain('\u001B')
  expect(stderr).toBe('')
})
