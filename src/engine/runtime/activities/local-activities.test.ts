import { describe, expect, test } from 'vitest'

import { testInstance, values } from '../../../../test/support/executions.ts'
import { partOf, testCore } from '../../../../test/support/runtime-core.ts'
import { testAttempts, testBeats } from '../../../../test/tasks/attempts.ts'
import { failure } from '../../../base/errors.ts'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import type { ActivityContext } from '../../define/activity-context.ts'
import type { Retry } from '../../define/retry.ts'
import type { Registration } from '../discover/registration.ts'
import { LocalActivities } from './local-activities.ts'
import type { ActivityWork } from '../../instance/activity-work.ts'
import { mergeActivityOptions } from '../../define/activity-options.ts'
import { Slots } from './slots.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

const Declined = failure<{ code: number }>('DeclinedInActivitiesTest', { retryable: false })

/** A runner of activities on virtual time, and its reports. */
function openActivities({ most = 10, mayStart }: { most?: number; mayStart?: Promise<void> } = {}) {
  const clock = virtualClock()
  const reports: unknown[] = []
  const core = testCore(clock)
  const slots = new Slots(core, most)
  slots.reportTo({ slotFreed() {} })
  // Valid once it has been renewed.
  void mayStart?.then(() => (mayStart = undefined))
  const lease = partOf<Registration['lease']>({ untilValid: () => mayStart })
  const registration = partOf<Registration>({ number: 5, lease })
  const attempts = testAttempts(core, testBeats(), registration)
  const activities = new LocalActivities(core, registration, slots, attempts, { end() {} })
  activities.reportTo({
    attemptEnded(_, command, attempt, end) {
      if (end.kind === 'completed') reports.push([end.kind, command, values.value(end.payload)])
      if (end.kind === 'failed') reports.push([end.kind, command, values.error(end.payload)])
      if (end.kind === 'retry') reports.push([end.kind, command, attempt, end.delayMs])
    },
    eviction: {
      async handOver(_, results) {
        for (const { command, payload } of results) {
          reports.push(['handed over', command, values.value(payload)])
        }
      },
    },
    leaveToOthers() {},
    releaseIfIdle() {},
  })
  const instance = testInstance('i')
  return {
    clock,
    log: core.log,
    reports,
    activities,
    slots,
    instance,
    settle: () => clock.advance(0),
  }
}

function step(
  code: (ctx: ActivityContext) => unknown,
  options: { retry?: Retry; timeoutMs?: number } = {},
): ActivityWork {
  return {
    name: 'work',
    options: mergeActivityOptions('test', undefined, {
      ...(options.retry && { retry: options.retry }),
      ...(options.timeoutMs && { timeout: options.timeoutMs }),
    }),
    input: undefined,
    definition: undefined,
    step: code,
    givenAt: 0,
    limit: null,
  }
}

const leave = (instance: LiveInstance): void => {
  instance.calls.abortAll('it is over')
}

describe('activities', () => {
  test('a result is reported, and its slot is free', async () => {
    const { reports, activities, slots, instance, settle } = openActivities()
    activities.start(
      instance,
      7,
      step(async (ctx) => [ctx.attempt, ctx.idempotencyKey, ctx.info]),
      2,
    )
    expect([slots.running, reports]).toEqual([1, []])

    await settle()

    const info = { instanceId: 'i', workflow: 'test', activity: 'work' }
    expect(reports).toEqual([['completed', 7, [2, '1-1-7-0', info]]])
    expect([slots.running, instance.calls.running.length]).toEqual([0, 0])
  })

  test('code that returns no promise has ended at once, even when it throws', () => {
    const { reports, activities, slots, instance } = openActivities()

    activities.start(
      instance,
      1,
      step(() => 'done'),
      1,
    )
    activities.start(
      instance,
      2,
      step(() => {
        throw new Error('no')
      }),
      1,
    )

    expect(reports).toEqual([
      ['completed', 1, 'done'],
      ['retry', 2, 1, expect.any(Number)],
    ])
    expect([slots.running, instance.calls.running.length]).toEqual([0, 0])
  })

  test('an error is reported as a retry with its delay, until the last attempt', async () => {
    const { reports, activities, instance, settle } = openActivities()
    const work = step(() => Promise.reject(new Error('no')), { retry: { jitter: false } })
    for (const attempt of [1, 2, 3]) {
      activities.start(instance, 1, work, attempt)
      await settle()
    }

    expect(reports.slice(0, 2)).toEqual([
      ['retry', 1, 1, 1_000],
      ['retry', 1, 2, 2_000],
    ])
    expect(reports[2]).toMatchObject(['failed', 1, { name: 'ActivityError', attempts: 3 }])
  })

  test('a failure is reported as itself', async () => {
    const { reports, activities, instance, settle } = openActivities()
    activities.start(
      instance,
      1,
      step(() => {
        throw new Declined('no', { code: 1 })
      }),
      1,
    )

    await settle()

    expect((reports[0] as unknown[])[2]).toBeInstanceOf(Declined)
  })

  test('no more run at once than allowed; the others wait for a slot', async () => {
    const { reports, activities, slots, instance, settle } = openActivities({ most: 2 })
    const ends: (() => void)[] = []
    for (let command = 1; command <= 4; command++) {
      activities.start(
        instance,
        command,
        step(() => new Promise<void>((end) => ends.push(end))),
        1,
      )
    }
    await settle()
    expect([slots.running, ends.length, instance.calls.running.length]).toEqual([2, 2, 4])
    ends[0]!()
    await settle()
    expect([slots.running, ends.length]).toEqual([2, 3])
    for (const end of ends) end()
    await settle()
    ends[3]!()
    await settle()

    expect(reports.map((line) => (line as unknown[])[1])).toEqual([1, 2, 3, 4])
  })

  test('an attempt that is no longer wanted is aborted, and its result is dropped', async () => {
    const { reports, activities, slots, instance, settle } = openActivities({ most: 1 })
    let reason: unknown
    let second = false
    const work = step(
      (ctx) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            reason = ctx.signal.reason
            resolve('too late')
          })
        }),
    )
    activities.start(instance, 1, work, 1)
    activities.start(
      instance,
      2,
      step(() => (second = true)),
      1,
    )
    await settle()
    leave(instance)
    await settle()

    expect(reason).toMatchObject({ name: 'CancelledError', reason: 'it is over' })
    expect(second).toBe(false)
    expect(reports).toEqual([])
    expect(slots.running).toBe(0)
  })

  test.each([
    [true, [['handed over', 1, 'too late']]],
    [false, []],
  ])(
    'a result that arrives anyway is handed over if another runtime owns the instance: %j',
    async (is, expected) => {
      const { reports, activities, instance, settle } = openActivities()
      let end!: (value: string) => void
      activities.start(
        instance,
        1,
        step(() => new Promise((resolve) => (end = resolve))),
        1,
      )
      await settle()

      if (is) instance.supersede('superseded')
      leave(instance)
      end('too late')
      await settle()

      expect(reports).toEqual(expected)
    },
  )

  test('an attempt that takes too long ends at its timeout', async () => {
    const { clock, reports, activities, slots, instance } = openActivities()
    const work = step(() => new Promise(() => {}), { timeoutMs: 100, retry: { maxAttempts: 1 } })
    activities.start(instance, 1, work, 1)

    await clock.advance(99)
    expect(reports).toEqual([])
    await clock.advance(1)

    expect(reports).toMatchObject([
      ['failed', 1, { cause: { name: 'TimeoutError', afterMs: 100 } }],
    ])
    // Its code goes on, and keeps its slot for a while.
    expect([clock.pending, slots.running]).toEqual([1, 1])
    await clock.advance(10_000)
    expect([clock.pending, slots.running]).toEqual([0, 0])
  })

  test('a timer of an attempt that ended in time is not left behind', async () => {
    const { clock, activities, instance, settle } = openActivities()
    activities.start(
      instance,
      1,
      step(() => 1, { timeoutMs: 100 }),
      1,
    )

    await settle()

    expect(clock.pending).toBe(0)
  })

  test('nothing starts until the lease is certainly valid', async () => {
    let renew!: () => void
    const mayStart = new Promise<void>((resolve) => (renew = resolve))
    const { reports, activities, instance, settle } = openActivities({ mayStart })
    activities.start(
      instance,
      1,
      step(() => 'one'),
      1,
    )
    activities.start(
      instance,
      2,
      step(() => 'two'),
      1,
    )
    await settle()
    expect(reports).toEqual([])
    instance.calls.end(2)
    renew()
    await settle()

    expect(reports).toEqual([['completed', 1, 'one']])
  })
})
