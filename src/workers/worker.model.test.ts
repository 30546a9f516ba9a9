import * as fc from 'fast-check'
import { expect, test } from 'vitest'

import { backoffMs } from '../base/time/backoff.ts'
import { notify } from '../base/sync/notify.ts'
import { openWorkers, type Step } from '../../test/support/workers.ts'
import { idle, proceed, sleep } from './directive.ts'

// A worker against a model of it: the state machine of the contract (A.10) as arithmetic.

type Outcome = 'proceed' | 'idle' | 'error' | { readonly sleep: number }

interface Script {
  readonly retryOn: 'timer' | 'notifier'
  readonly passes: readonly { readonly takes: number; readonly outcome: Outcome }[]
  /** When a notifier fires, and which one. */
  readonly notifies: readonly { readonly at: number; readonly source: number }[]
  readonly pacing: { readonly min: number; readonly active: number; readonly step: number }
  readonly backoff: { readonly initial: number; readonly max: number; readonly multiplier: number }
}

const SOURCES = [0, 1]
const HORIZON_MS = 100_000

/** When the passes of the script begin. */
function model({ retryOn, passes, notifies, pacing, backoff }: Script): number[] {
  const { initial: initialMs, max: maxMs, multiplier } = backoff
  const coming = [...notifies]
  const permits = new Set<number>()
  const starts: number[] = []
  let now = 0
  let pace = pacing.active
  let failures = 0
  let lastStart = 0
  let next: Outcome = 'idle'

  const floor = (): number =>
    backoffMs({ initialMs, maxMs, multiplier, jitter: 0 }, failures, () => 0)
  const notifiedBefore = (end: number): number => {
    while (coming.length > 0 && coming[0]!.at <= now) permits.add(coming.shift()!.source)
    if (SOURCES.some((source) => permits.delete(source))) return now
    return coming.length > 0 && coming[0]!.at <= end ? coming.shift()!.at : end
  }

  for (const { takes, outcome } of passes) {
    if (next === 'proceed') {
      now += pace
      pace = Math.max(pace - pacing.step, pacing.min)
    } else {
      pace = pacing.active
      if (typeof next === 'object') now = notifiedBefore(now + next.sleep)
      else if (next === 'error' && retryOn === 'timer') now += floor()
      else {
        now = Math.max(now, lastStart + floor())
        now = notifiedBefore(Infinity)
      }
    }
    if (now > HORIZON_MS) break
    starts.push(now)
    lastStart = now
    now += takes
    failures = outcome === 'error' ? failures + 1 : 0
    next = outcome
  }
  return starts
}

function stepOf({ takes, outcome }: Script['passes'][number]): Step {
  const ends =
    outcome === 'proceed'
      ? proceed()
      : outcome === 'idle'
        ? idle()
        : outcome === 'error'
          ? new Error('trouble')
          : sleep(outcome.sleep)
  return takes === 0 ? ends : { takes, ends }
}

/** When the passes of the script begin, in a real worker. */
async function run(script: Script): Promise<number[]> {
  await using world = openWorkers()
  const { retryOn, pacing, backoff } = script
  const wakeOn = SOURCES.map(() => notify())
  for (const { at, source } of script.notifies) world.wakeAt([at], wakeOn[source])
  const { times } = world.play(
    { retryOn, pacing, backoff: { ...backoff, jitter: 0 }, wakeOn },
    ...script.passes.map((pass) => stepOf(pass)),
  )

  await world.clock.advance(HORIZON_MS)
  return times.slice(0, script.passes.length)
}

const ms = fc.integer({ min: 0, max: 120 })

const scripts: fc.Arbitrary<Script> = fc.record({
  retryOn: fc.constantFrom('timer', 'notifier'),
  passes: fc.array(
    fc.record({
      takes: fc.oneof(fc.constant(0), ms),
      outcome: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom<Outcome>('proceed', 'idle', 'error') },
        { weight: 1, arbitrary: fc.record({ sleep: ms }) },
      ),
    }),
    { minLength: 1, maxLength: 16 },
  ),
  notifies: fc
    .array(
      fc.record({ at: fc.integer({ min: 0, max: 1500 }), source: fc.constantFrom(...SOURCES) }),
    )
    .map((notifies) =>
      // A fraction of its own keeps each notify apart from every other event: what happens in one
      // instant may happen in either order.
      notifies
        .map(({ at, source }, i) => ({ at: at + (i + 1) / 1024, source }))
        .toSorted((a, b) => a.at - b.at),
    ),
  pacing: fc.record({ min: ms, active: ms, step: ms }),
  backoff: fc
    .record({ initial: ms, more: ms, multiplier: fc.constantFrom(1, 1.5, 2, 10) })
    .map(({ initial, more, multiplier }) => ({ initial, max: initial + more, multiplier })),
})

test('a worker runs its passes exactly when the state machine of the contract says', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      expect(await run(script)).toEqual(model(script))
    }),
    { numRuns: 400 },
  )
})

test.each(['timer', 'notifier'] as const)(
  'the model itself has the worked example right under retryOn: %s',
  (retryOn) => {
    const starts = model({
      retryOn,
      passes: [
        { takes: 5, outcome: 'error' },
        { takes: 0, outcome: 'proceed' },
        { takes: 0, outcome: { sleep: 50 } },
        { takes: 0, outcome: 'idle' },
        { takes: 0, outcome: 'idle' },
      ],
      notifies: [
        { at: 0, source: 0 },
        { at: 20, source: 1 },
        { at: 1000, source: 0 },
      ],
      pacing: { min: 1, active: 30, step: 10 },
      backoff: { initial: 100, max: 100, multiplier: 2 },
    })

    // By a timer: 100 ms after the end of the error, and the notify of 20 ms ends the sleep.
    // By a notifier: 100 ms after its start, where the notify of 20 ms is used up.
    expect(starts).toEqual(
      retryOn === 'timer' ? [0, 105, 135, 135, 1000] : [0, 100, 130, 180, 1000],
    )
  },
)
