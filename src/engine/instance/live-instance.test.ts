import { describe, expect, test } from 'vitest'

import {
  cancelled,
  completed,
  instanceWithPast,
  mail,
  post,
  STARTED,
  testInstance,
  values,
} from '../../../test/support/executions.ts'
import { Execution } from '../replay/execution.ts'
import type { LiveInstance } from './live-instance.ts'
import type { Departure, Phase } from './phase.ts'
import type { Attempt } from './open-calls.ts'

const row = (turn: number, first: number, count: number) => ({
  execution: 1,
  turn,
  at: 100 * turn,
  first,
  count,
  events: 'some events',
})

/** An attempt that says what it was aborted with. */
function attempt(): Attempt & { readonly reasons: string[] } {
  const reasons: string[] = []
  return { kind: 'activity', reasons, abort: (reason) => void reasons.push(reason) }
}

/** Ways into every phase. */
const BRING: Record<Phase['is'], (instance: LiveInstance) => void> = {
  waiting: () => {},
  ready: (instance) => instance.makeReady(),
  committing: (instance) => instance.beginCommit(),
  released: (instance) => instance.released(),
  gone: (instance) => instance.leave('evicted', 'it left'),
}

describe('the phases of an instance', () => {
  test('go from waiting to ready, to committing, and back to waiting', () => {
    const instance = testInstance('i')
    const phases = [instance.phase.is]

    expect(instance.makeReady()).toBe(true)
    phases.push(instance.phase.is)
    instance.beginCommit()
    phases.push(instance.phase.is)
    instance.committed(row(1, 1, 2), [])
    phases.push(instance.phase.is)

    expect(phases).toEqual(['waiting', 'ready', 'committing', 'waiting'])
  })

  test.each(['ready', 'committing', 'released', 'gone'] as const)(
    'one that is %s is not made ready',
    (phase) => {
      const instance = testInstance('i')
      BRING[phase](instance)

      expect(instance.makeReady()).toBe(false)
      expect(instance.phase.is).toBe(phase)
    },
  )

  test('a gone instance stays gone, whatever was under way', () => {
    const instance = testInstance('i')
    instance.leave('ended', 'the workflow has ended')

    instance.beginCommit()
    instance.leave('evicted', 'the runtime is closing')

    expect(instance.phase).toEqual({ is: 'gone', why: 'ended' })
  })

  test.each(['released', 'waiting'] as const)('one that is %s can be claimed again', (phase) => {
    const instance = instanceWithPast()
    instance.takenUp()
    BRING[phase](instance)

    instance.claimed(7, [], true)

    expect(instance).toMatchObject({ epoch: 7, isReopened: true, isQuarantined: true })
    expect(instance.phase.is).toBe('waiting')
  })
})

describe('leaving', () => {
  test('aborts what runs here, and drops the code', () => {
    const instance = testInstance('i')
    const running = attempt()
    instance.calls.begin(1, running)

    instance.leave('evicted', 'the runtime is closing')

    expect(running.reasons).toEqual(['the runtime is closing'])
    expect(instance.calls.isIdle).toBe(true)
  })

  test.each<[Departure, boolean]>([
    ['ended', false],
    ['evicted', false],
    ['rolled back', false],
    ['superseded', true],
    ['suspended', true],
  ])('as %s leaves late results to the next owner: %s', (why, leaves) => {
    const instance = testInstance('i')

    if (why === 'superseded' || why === 'suspended') instance.supersede(why)
    else instance.leave(why, 'it left')

    expect(instance.leavesResults).toBe(leaves)
  })

  test('one that was evicted can still turn out to be superseded', () => {
    const instance = testInstance('i')
    instance.leave('evicted', 'the runtime is closing')

    expect(instance.supersede('superseded')).toBe(true)
    expect(instance.leavesResults).toBe(true)
  })

  test('the results of an instance that was rolled back are dropped', () => {
    const instance = testInstance('i')
    instance.leave('rolled back', 'the database may have lost its latest turns')

    expect(instance.supersede('superseded')).toBe(false)
    expect(instance.leavesResults).toBe(false)
  })

  test('arrivals that no turn has taken are handed over, not kept', () => {
    const instance = testInstance('i')
    instance.inbox.arrive({ event: completed(1) })

    instance.supersede('superseded')

    expect(instance.inbox.arrivals).toEqual([])
  })
})

describe('a commit', () => {
  test('moves the position in history', () => {
    const instance = testInstance('i')
    expect(instance).toMatchObject({ turn: 0, seq: 0, isStarted: false })

    instance.committed(row(1, 1, 3), [])
    instance.committed(null, [])
    instance.committed(row(2, 4, 2), [])

    expect(instance).toMatchObject({ turn: 2, turnAt: 200, seq: 5, isStarted: true })
  })

  test('counts the bytes that the code was given', () => {
    const instance = testInstance('i')
    const before = instance.handedBytes

    instance.committed(row(1, 1, 3), [])

    expect(instance.handedBytes - before).toBe('some events'.length)
  })

  test('writes the log lines of its turn, once', () => {
    const instance = testInstance('i')
    const lines: string[] = []
    instance.afterCommit(() => void lines.push('a line'))
    expect(lines).toEqual([])

    instance.committed(null, [])
    instance.committed(null, [])

    expect(lines).toEqual(['a line'])
  })

  test('of a turn that failed writes none of them', () => {
    const instance = testInstance('i')
    instance.afterCommit(() => expect.unreachable())

    instance.turnFailed()
    instance.committed(null, [])
  })
})

/** The next execution of an instance. */
function next(instance: LiveInstance): LiveInstance {
  const { definition, input, started } = instance
  const run = new Execution('the next execution', values)
  const first = { ...row(1, 1, 1), execution: 2 }
  return instance.continued({ definition, run, input, started }, first, [])
}

describe('the next execution', () => {
  test('keeps the epoch, the messages and a cancellation, and no results', () => {
    const instance = instanceWithPast()
    instance.claimed(9, [], false)
    post(instance, mail('orders', 'tea'))
    instance.inbox.arrive({ event: completed(1) }, { event: cancelled('enough') })

    const heir = next(instance)

    expect(heir).toMatchObject({ execution: 2, epoch: 9, turn: 1, isReopened: true })
    expect(heir.inbox.messages).toHaveLength(1)
    expect(heir.inbox.arrivals.map(({ event }) => event.type)).toEqual(['cancelled'])
    expect(heir.inbox.isSameAs(instance.inbox)).toBe(true)
  })

  test('a cancellation that was deferred comes first', () => {
    const instance = instanceWithPast()
    instance.inbox.arrive({ event: cancelled('later') })
    instance.inbox.leaveToNext({ event: cancelled('deferred') })

    expect(next(instance).inbox.arrivals.map(({ event }) => event)).toEqual([
      cancelled('deferred'),
      cancelled('later'),
    ])
  })
})

describe('an instance that is cancelled before its code ran', () => {
  test('ends at once', () => {
    const instance = instanceWithPast()
    instance.inbox.arrive({ event: cancelled('enough'), inboxId: 4 })

    instance.stopIfNeverRun()

    expect(instance.inbox.stop).toEqual({ status: 'cancelled', reason: 'enough', inboxId: 4 })
  })

  test.each([
    ['has begun', () => testInstance('i', [{ at: 1, events: [STARTED, completed(1)] }])],
    ['is new here', () => testInstance('i')],
  ])('does not, when it %s', (_, make) => {
    const instance = make()
    instance.inbox.arrive({ event: cancelled('enough') })

    instance.stopIfNeverRun()

    expect(instance.inbox.stop).toBeUndefined()
  })
})

test('a quarantine is left once', () => {
  const instance = instanceWithPast()
  instance.claimed(2, [], true)

  expect([instance.leaveQuarantine(), instance.leaveQuarantine()]).toEqual([true, false])
})

test('messages that came with its start are read once that is committed', () => {
  const [plain, sent] = [testInstance('plain'), testInstance('sent')]
  plain.startWith({ labels: '{}', messages: [], settle: () => {} })
  const messages = [{ name: 'orders', payload: '1' }]
  sent.startWith({ labels: '{}', messages, settle: () => {} })
  expect(sent.inbox.hasEarlyMail).toBe(false)

  for (const instance of [plain, sent]) instance.committed(row(1, 1, 1), [])

  expect([plain.inbox.hasEarlyMail, sent.inbox.hasEarlyMail]).toEqual([false, true])
  expect([plain.start, sent.start]).toEqual([undefined, undefined])
})
