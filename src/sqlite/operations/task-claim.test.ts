import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TaskDatabase } from '../../../test/support/task-database.ts'
import { type ModelTask, TaskModel } from '../../../test/support/task-model.ts'
import type { TaskRequest } from '../../store/tasks.ts'
import { newTask } from '../../testing/contract/task-items.ts'
import { beat } from './task-beats.ts'
import { claimTasks } from './task-claim.ts'
import { freeTasksOf } from './task-owners.ts'
import { nextTaskAt } from './task-lanes.ts'
import { finishTasks } from './task-results.ts'

// The store finds tasks by many small reads in the right places; the model reads all of them.

const CHARGE = ['charge']
const ALL = ['mail', 'charge']
const RUNTIMES = 3
const SESSION_IDLE_MS = 1_000

const LIMITS = [
  null,
  { key: 'at once', concurrency: 3, rate: null },
  { key: 'rate', concurrency: null, rate: { count: 3, perMs: 1_000 } },
  { key: 'both', concurrency: 1, rate: { count: 2, perMs: 300 } },
] as const

const task = fc.record({
  activity: fc.constantFrom('charge', 'mail'),
  tag: fc.constantFrom('', '', '', 'gpu', 'eu'),
  session: fc.constantFrom('', 'a', 'b', 'c'),
  limit: fc.constantFrom(null, null, ...LIMITS),
  startInMs: fc.option(fc.nat({ max: 2_000 }), { freq: 2 }),
})
const which = fc.nat({ max: 99 })
const runtime = fc.nat({ max: RUNTIMES - 1 })
const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      tasks: fc.array(task, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      runtime,
      limit: fc.constantFrom(1, 2, 9),
      maxSessions: fc.constantFrom(1, 2, 9),
      activities: fc.constantFrom(CHARGE, ALL),
      untagged: fc.constantFrom(true, true, false),
      tags: fc.constantFrom('any' as const, 'any' as const, [], ['eu', 'gpu']),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      which,
      kind: fc.constantFrom('completed' as const, 'retry' as const, 'release' as const),
      delayMs: fc.constantFrom(0, 700),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('beat' as const),
      which,
      silentMs: fc.constantFrom(null, 0, 300, 800),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(600) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('leave' as const),
      runtime,
      died: fc.constantFrom(true, true, false),
    }),
  },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

/** Its session is busy only until its owner has been silent for too long. */
const SILENT_SESSION: Action[] = [
  { do: 'ask', tasks: [taskIn('mail', 'a'), taskIn('charge', 'a')] },
  claimBy(0, ALL),
  { do: 'beat', which: 0, silentMs: 800 },
  { do: 'beat', which: 1, silentMs: 0 },
  claimBy(1, CHARGE),
]

/** The runtime has no room for another session when a task of its own becomes visible again. */
const VISIBLE_IN_SESSION: Action[] = [
  { do: 'ask', tasks: [taskIn('charge', 'a'), taskIn('charge', 'a')] },
  claimBy(0, CHARGE),
  { do: 'finish', which: 0, kind: 'retry', delayMs: 700 },
  { do: 'wait', ms: 700 },
  claimBy(0, CHARGE),
]

/** It was silent until its session was free, and no other runtime took the session. */
const BACK_IN_SESSION: Action[] = [
  { do: 'ask', tasks: [taskIn('charge', 'a')] },
  claimBy(0, CHARGE),
  { do: 'beat', which: 0, silentMs: 0 },
  { do: 'wait', ms: 1_000 },
  claimBy(1, ['mail']),
  { do: 'beat', which: 0, silentMs: null },
  { do: 'ask', tasks: [taskIn('charge', 'a')] },
  claimBy(1, CHARGE),
]

/** The same, and it takes the rest of its session itself. */
const ALONE_IN_SESSION: Action[] = [
  { do: 'ask', tasks: [taskIn('charge', 'a')] },
  claimBy(0, CHARGE),
  { do: 'beat', which: 0, silentMs: 0 },
  { do: 'wait', ms: 1_000 },
  { do: 'ask', tasks: [taskIn('mail', 'a'), taskIn('mail', 'a')] },
  { ...claimBy(0, ['mail']), maxSessions: 2 },
]

/** It owns a task with two deaths, only until it has been silent for too long. */
const QUARANTINED_AND_SILENT: Action[] = [
  { do: 'ask', tasks: [taskIn('charge', ''), taskIn('mail', '')] },
  claimBy(0, ALL),
  { do: 'leave', runtime: 0, died: true },
  claimBy(0, ALL),
  { do: 'leave', runtime: 0, died: true },
  claimBy(0, CHARGE),
  { do: 'beat', which: 0, silentMs: 300 },
  claimBy(0, ['mail']),
]

/** A takeover from a silent owner takes its place within the limit, too. */
const SILENT_WITHIN_LIMIT: Action[] = [
  { do: 'ask', tasks: [taskIn('charge', '', LIMITS[1]), taskIn('charge', '', LIMITS[1])] },
  claimBy(0, CHARGE),
  { do: 'beat', which: 1, silentMs: 0 },
  { do: 'finish', which: 0, kind: 'retry', delayMs: 0 },
  { do: 'ask', tasks: [taskIn('charge', '', LIMITS[1])] },
  claimBy(1, CHARGE),
]

const EXAMPLES: [Action[]][] = [
  [SILENT_SESSION],
  [VISIBLE_IN_SESSION],
  [BACK_IN_SESSION],
  [ALONE_IN_SESSION],
  [QUARANTINED_AND_SILENT],
  [SILENT_WITHIN_LIMIT],
]

function taskIn(
  activity: 'mail' | 'charge',
  session: '' | 'a',
  limit: (typeof LIMITS)[number] = null,
) {
  return { activity, tag: '', session, limit, startInMs: null } as const
}

function claimBy(index: number, activities: string[]): Extract<Action, { do: 'claim' }> {
  const all = { limit: 9, maxSessions: 1, untagged: true, tags: 'any' } as const
  return { do: 'claim', runtime: index, activities, ...all }
}

test('each claim returns what a scan of every task would, and says in time when the next is due', () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 40, maxLength: 80 }), (actions) => {
      using world = new World()
      for (const step of actions) {
        const [actual, expected] = world.perform(step)
        expect(actual).toEqual(expected)
      }
    }),
    { numRuns: 60, examples: EXAMPLES },
  )
})

/** What the store did, and what it should have done. */
type Comparison = readonly [actual: unknown, expected: unknown]

const NOTHING: Comparison = [undefined, undefined]

/** The store and its model, side by side. */
class World implements Disposable {
  readonly #database = new TaskDatabase()
  readonly #model = new TaskModel(this.#database.now)
  readonly #runtimes = Array.from({ length: RUNTIMES }, () => this.#database.register())

  perform(step: Action): Comparison {
    switch (step.do) {
      case 'ask':
        for (const given of step.tasks) this.#ask(given)
        return NOTHING
      case 'claim':
        return this.#claim(step)
      case 'finish':
        return this.#finish(step)
      case 'beat':
        return this.#beat(step)
      case 'wait':
        this.#model.now = this.#database.now += step.ms
        return NOTHING
      case 'leave':
        return this.#leave(step)
    }
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]()
  }

  #ask({ startInMs, ...given }: Extract<Action, { do: 'ask' }>['tasks'][number]): void {
    const { now } = this.#model
    const startBy = startInMs === null ? null : now + startInMs
    const asked = this.#database.ask({ ...given, startBy })
    const fresh = { deaths: 0, visibleAt: now, owner: null, beatUntil: null }
    this.#model.tasks.push({ ...asked, ...fresh })
  }

  #claim(step: Extract<Action, { do: 'claim' }>): Comparison {
    const { activities, untagged, tags, limit, maxSessions } = step
    const served = { untagged, tags }
    const request: TaskRequest = {
      runtime: this.#runtimes[step.runtime]!,
      activities,
      served,
      limit,
      maxSessions,
      sessionIdleMs: SESSION_IDLE_MS,
    }
    const firstComes = this.#model.nextClaim(request)
    const nextTask = this.#database.run((tx) => nextTaskAt(tx, { activities, served }))
    const { tasks, nextDue } = this.#database.run((tx) => claimTasks(tx, request))
    const expected = this.#model.claim(request)
    // What is there now and was left only for want of room is not a matter of time.
    const nextComes = expected.length === limit ? undefined : this.#model.nextClaim(request)
    return [
      {
        tasks: tasks.map(({ command, attempt, deaths }) => ({ command, attempt, deaths })),
        isInTime: isInTime(nextDue, nextComes),
        isTickInTime: isInTime(nextTask, firstComes),
      },
      {
        tasks: expected.map(({ command, attempts: attempt, deaths }) => ({
          command,
          attempt,
          deaths,
        })),
        isInTime: true,
        isTickInTime: true,
      },
    ]
  }

  #finish({ which: index, kind, delayMs }: Extract<Action, { do: 'finish' }>): Comparison {
    const owned = this.#owned(index)
    if (owned === undefined) return NOTHING
    const end = kind === 'completed' ? { kind, payload: '1' } : { kind, delayMs }
    const result = { ...this.#attempt(owned), end }
    const [answer] = this.#database.run((tx) => finishTasks(tx, owned.owner!, [result]))
    this.#model.finish(owned, kind, delayMs)
    return [answer?.verdict, 'done']
  }

  #beat({ which: index, silentMs }: Extract<Action, { do: 'beat' }>): Comparison {
    const owned = this.#owned(index)
    if (owned === undefined) return NOTHING
    const sign = { ...this.#attempt(owned), details: null, silentMs, local: null }
    const wanted = this.#database.run((tx) => beat(tx, owned.owner!, [sign]))
    this.#model.beat(owned, silentMs)
    return [wanted, [true]]
  }

  #leave({ runtime: index, died }: Extract<Action, { do: 'leave' }>): Comparison {
    const gone = this.#runtimes[index]!
    this.#database.run((tx) => freeTasksOf(tx, gone, died))
    this.#model.free(gone, died)
    this.#runtimes[index] = this.#database.register()
    return NOTHING
  }

  #owned(index: number): ModelTask | undefined {
    const owned = this.#model.tasks.filter(({ owner }) => owner !== null)
    return owned[index % owned.length]
  }

  #attempt({ command, attempts }: ModelTask) {
    return { ...this.#database.key(command), token: newTask(command).token, attempt: attempts }
  }
}

/** Whether a claim at the returned time is not too late. */
function isInTime(returned: number | null, comes: number | undefined): boolean {
  return (returned ?? Infinity) <= (comes ?? Infinity)
}
