import { describe, expect, test } from 'vitest'

import { attemptHost, TestCall } from '../../../test/tasks/attempts.ts'
import { FakeTaskStore, heldTask } from '../../../test/tasks/fake-task-store.ts'
import { values } from '../../../test/support/executions.ts'
import { openWorkers } from '../../../test/support/workers.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ServedTags } from '../../store/tasks.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Hint } from '../client/client-setup.ts'
import type { ActivityContext } from '../context/activity-context.ts'
import { activity, type ActivityDefinition } from '../definitions.ts'
import { UNTAGGED } from '../served-tags.ts'
import { Slots } from './slots.ts'
import { TaskRunner } from './task-runner.ts'

type Code = (ctx: ActivityContext) => unknown

/** What an attempt of the activity does, and how it is ended by hand. */
class Manual {
  readonly begun: ActivityContext[] = []
  readonly #ends: { resolve: (value: unknown) => void; reject: (error: unknown) => void }[] = []

  readonly code: Code = (ctx) => {
    this.begun.push(ctx)
    return new Promise((resolve, reject) => this.#ends.push({ resolve, reject }))
  }

  /** Ends the attempt that began as the n-th. */
  end(n: number, value: unknown = null): void {
    this.#ends[n]!.resolve(value)
  }

  fail(n: number, error: unknown): void {
    this.#ends[n]!.reject(error)
  }
}

/** A runner of tasks on virtual time, before a store that remembers what it was asked. */
function openRunner(
  given: { most?: number; served?: ServedTags; activities?: readonly string[]; code?: Code } = {},
) {
  const workers = openWorkers()
  const { clock } = workers
  const store = new FakeTaskStore()
  const manual = new Manual()
  const host = attemptHost(clock)
  const run = async (_: unknown, ctx: ActivityContext) => (given.code ?? manual.code)(ctx)
  const definition = activity('work', run) as unknown as ActivityDefinition
  const identity = { runtime: 5 }
  const deaths: number[] = []
  const hints: Hint[] = []
  const due: number[] = []
  const careful: string[] = []
  let gate: Promise<void> | undefined
  const slots = new Slots(
    { clock, log: host.log, onFree: () => runner.roomFreed() },
    given.most ?? 3,
  )
  const runner = new TaskRunner(
    {
      ...host,
      store: store as unknown as WorkflowStore,
      runtimeNumber: () => identity.runtime,
      activityNames: () => given.activities ?? ['work'],
      activity: (name) => (name === 'work' ? definition : undefined),
      mayStart: () => gate,
      sawTime: () => {},
      async onDead(runtime) {
        deaths.push(runtime)
        store.state = 'ok'
        identity.runtime++
        runner.lost('another runtime has taken over')
      },
      tasksAt: (at) => due.push(at),
      becoming: () => [],
      beatsOver: () => undefined,
      carefulOver: () => {
        careful.push('over')
        runner.wake()
      },
      hint: (targets) => hints.push(...targets),
    },
    { served: given.served ?? UNTAGGED, mostSessions: 4, sessionIdleMs: 9_000 },
    slots,
  )
  workers.keep(runner.work())
  workers.keep(runner.results.work())
  return {
    clock,
    log: host.log,
    store,
    manual,
    slots,
    runner,
    deaths,
    hints,
    due,
    /** When something that others waited for was over. */
    careful,
    /** Nothing may begin until the function that this returns is called. */
    holdStarts: () => {
      let open!: () => void
      gate = new Promise((resolve) => (open = resolve))
      return () => {
        gate = undefined
        open()
      }
    },
    /** Declares the runtime dead, as any loop of it may find out. */
    die: () => {
      identity.runtime++
      runner.lost('another runtime has taken over')
    },
    /** Hands tasks out. */
    give: async (...tasks: Parameters<typeof heldTask>[]) => {
      store.waiting.push(...tasks.map((task) => heldTask(...task)))
      runner.wake()
      await clock.advance(0)
    },
    settle: () => clock.advance(0),
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  }
}

describe('the runner of tasks', () => {
  test('no more are claimed than there are free slots', async () => {
    await using opened = openRunner({ most: 3 })
    const { store, manual, give, settle } = opened

    await give([1], [2], [3], [4], [5])
    expect(store.requests.map(({ limit }) => limit)).toEqual([3])
    manual.end(0)
    await settle()

    expect(manual.begun).toHaveLength(4)
    expect(store.requests.map(({ limit }) => limit)).toContain(1)
    expect(store.requests.every(({ limit }) => limit <= 3)).toBe(true)
    expect(store.waiting).toHaveLength(1)
  })

  test('a slot that a local activity holds is not claimed for', async () => {
    await using opened = openRunner({ most: 2 })
    const { clock, slots, store, give } = opened
    slots.run(new TestCall(attemptHost(clock)), { perform: () => new Promise(() => {}) })

    await give([1], [2])

    expect(store.requests.map(({ limit }) => limit)).toEqual([1])
  })

  test('a claim says what can be run here, and how sessions are kept', async () => {
    const served = { untagged: true, tags: ['gpu'] }
    await using opened = openRunner({ served })
    const { store, give } = opened

    await give()

    expect(store.requests).toEqual([
      { runtime: 5, limit: 3, activities: ['work'], served, mostSessions: 4, sessionIdleMs: 9_000 },
    ])
  })

  test.each<[string, Parameters<typeof openRunner>[0]]>([
    ['has no code of activities', { activities: [] }],
    ['serves none', { served: { untagged: false, tags: [] } }],
  ])('a runtime that %s never asks', async (_, given) => {
    await using opened = openRunner(given)
    const { runner, store, give } = opened

    await give([1])

    expect(store.requests).toEqual([])
    expect(runner.interest?.activities ?? []).toEqual([])
  })

  test('the next due time is noted', async () => {
    await using opened = openRunner()
    const { store, due, give } = opened
    store.nextDue = 77

    await give()

    expect(due).toEqual([77])
  })

  test('a claim that failed is tried again', async () => {
    await using opened = openRunner()
    const { clock, store, manual, give } = opened
    let failures = 0
    store.before = () => {
      if (failures++ < 2) throw new StoreError('busy', 'claimTasks', 'locked')
    }

    await give([1])
    await clock.advance(10_000)

    expect(manual.begun).toHaveLength(1)
  })

  test('code is given what is known about its task', async () => {
    await using opened = openRunner()
    const { manual, give } = opened

    await give([
      8,
      { id: 'order-1', workflow: 'orders', tag: 't', session: 's', attempt: 4, beat: '{"done":7}' },
    ])

    const [ctx] = manual.begun
    expect(ctx!.info).toEqual({
      instanceId: 'order-1',
      workflow: 'orders',
      activity: 'work',
      tag: 't',
      session: 's',
    })
    expect([ctx!.attempt, ctx!.lastHeartbeat, ctx!.idempotencyKey]).toEqual([
      4,
      { done: 7 },
      '1-1-8-0',
    ])
  })

  test('results are told, and the owner of an instance that has one is hinted', async () => {
    await using opened = openRunner()
    const { store, manual, hints, give, settle } = opened
    store.verdictOn = ({ command }) => ({ verdict: command === 4 ? 'gone' : 'done', owner: 9 })
    await give([1, { iid: 21 }], [2, { iid: 22, attempt: 3 }], [3, { iid: 23 }])

    manual.end(0, 'yes')
    manual.fail(1, new Error('no'))
    manual.fail(2, new Error('again'))
    await settle()
    await give([4, { iid: 24 }])
    manual.end(3)
    await settle()

    expect(store.ends).toEqual([
      [1, 'completed', 5],
      [2, 'failed', 5],
      [3, 'retry', 5],
      [4, 'completed', 5],
    ])
    expect(store.finished[0]!.results).toMatchObject([
      { iid: 21, execution: 1, attempt: 1, end: { payload: '"yes"' } },
      { iid: 22, attempt: 3 },
      { iid: 23, end: { delayMs: 1_000 } },
    ])
    expect(hints).toEqual([
      { iid: 21, owner: 9 },
      { iid: 22, owner: 9 },
      // Gone, it may have been told before, and the answer was lost.
      { iid: 24, owner: 9 },
    ])
  })

  test.each([
    ['of a session', { session: 's' }, true],
    ['that runtimes died with', { deaths: 2 }, true],
    ['of no interest to others', {}, false],
  ])(
    'after a task %s it asks again only if another may have waited: %j',
    async (_, given, asks) => {
      await using opened = openRunner()
      const { store, manual, settle, runner } = opened
      store.waiting.push(heldTask(1, given))
      runner.wake()
      await settle()
      const before = store.requests.length

      manual.end(0)
      await settle()

      expect(store.requests.length > before).toBe(asks)
    },
  )

  test('nothing begins while it is not certain that it may', async () => {
    await using opened = openRunner()
    const { runner, store, manual, give, settle, holdStarts } = opened
    const release = holdStarts()
    await give([1], [2])
    expect(manual.begun).toEqual([])

    runner.abort([{ iid: 1, execution: 1, command: 1 }])
    release()
    await settle()

    expect(manual.begun.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['1-1-2-0'])
    expect(store.ends).toEqual([])
  })

  describe('whether there is anything', () => {
    test('is found out by a look that begins after the question', async () => {
      await using opened = openRunner()
      const { clock, runner, store, manual, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      runner.wake()
      await settle()

      const finding = runner.findsNothing()
      store.before = () => void store.waiting.push(heldTask(1))
      arrive()

      expect(await clock.until(finding)).toBe(false)
      expect(manual.begun).toHaveLength(1)
    })

    test('is nothing when a claim brings nothing, or nothing could be run', async () => {
      await using opened = openRunner()
      await using none = openRunner({ activities: [] })

      expect(await opened.clock.until(opened.runner.findsNothing())).toBe(true)
      expect(await none.runner.findsNothing()).toBe(true)
    })

    test('is not known when the store does not answer', async () => {
      await using opened = openRunner()
      const { clock, runner, store } = opened
      store.before = () => {
        throw new StoreError('busy', 'claimTasks', 'locked')
      }

      expect(await clock.until(runner.findsNothing())).toBe(false)
    })

    test('is not waited for when it closes', async () => {
      await using opened = openRunner()
      const { clock, runner, store, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      const finding = runner.findsNothing()
      await settle()

      const closing = runner.close(0)

      expect(await clock.until(finding)).toBe(true)
      arrive()
      await clock.until(closing)
    })
  })

  describe('an attempt that is not wanted any more', () => {
    test('is told to stop, and what it brings is dropped', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1], [2])

      runner.abort([{ iid: 1, execution: 1, command: 1 }])
      const [first, second] = manual.begun
      expect(first!.signal.reason).toMatchObject({
        name: 'CancelledError',
        reason: 'its result is not wanted any more',
      })
      expect(second!.signal.aborted).toBe(false)
      manual.end(0)
      manual.end(1)
      await settle()

      expect(store.ends).toEqual([[2, 'completed', 5]])
      expect(runner.busy).toBe(false)
    })

    test('is only that attempt, when one is named', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1, { attempt: 2 }])

      runner.abort([{ iid: 1, execution: 1, command: 1, attempt: 1 }])
      expect(runner.held()).toEqual([{ iid: 1, execution: 1, command: 1, attempt: 2 }])
      manual.end(0)
      await settle()

      expect(store.ends).toEqual([[1, 'completed', 5]])
    })

    test('is not in the way of others any more', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle } = opened
      await give([1, { session: 'one' }])
      const asked = store.requests.length

      runner.abort([{ iid: 1, execution: 1, command: 1 }])
      await settle()

      expect(store.requests).toHaveLength(asked + 1)
      manual.end(0)
      await settle()
    })

    test('is told apart from the same command of another execution or instance', async () => {
      await using opened = openRunner()
      const { runner, manual, give } = opened
      await give([1, { iid: 11 }], [1, { iid: 1, execution: 11 }])

      runner.abort([{ iid: 1, execution: 1, command: 1 }])

      expect(manual.begun.map(({ signal }) => signal.aborted)).toEqual([false, false])
    })
  })

  describe('a runtime that is declared dead', () => {
    test('finds out by a claim, and goes on under its new number', async () => {
      await using opened = openRunner()
      const { store, deaths, manual, give } = opened
      store.state = 'dead'

      await give([1])

      expect(deaths).toEqual([5])
      expect(store.requests.map(({ runtime }) => runtime)).toEqual([5, 6])
      expect(manual.begun).toHaveLength(1)
    })

    test('stops what it runs, and tells under its old number what completed all the same', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle, die } = opened
      await give([1], [2])

      die()
      expect(manual.begun.every(({ signal }) => signal.aborted)).toBe(true)
      expect([runner.held(), runner.busy]).toEqual([[], false])
      manual.end(0)
      manual.fail(1, new Error('stopped'))
      await settle()

      expect(store.ends).toEqual([[1, 'completed', 5]])
    })

    test('may hold the same task again, and both attempts tell what they brought', async () => {
      await using opened = openRunner()
      const { runner, store, manual, give, settle, die } = opened
      await give([1])
      die()
      await give([1, { attempt: 2 }])
      expect(runner.held()).toEqual([{ iid: 1, execution: 1, command: 1, attempt: 2 }])

      manual.end(0)
      await settle()
      manual.end(1)
      await settle()

      expect(store.ends).toEqual([
        [1, 'completed', 5],
        [1, 'completed', 6],
      ])
    })

    test('does not begin what it had not begun', async () => {
      await using opened = openRunner()
      const { store, manual, give, settle, die, holdStarts } = opened
      const release = holdStarts()
      await give([1])

      die()
      release()
      await settle()

      expect([manual.begun, store.ends]).toEqual([[], []])
    })
  })

  describe('close', () => {
    test('waits for what runs and for its results, and claims nothing more', async () => {
      await using opened = openRunner()
      const { clock, runner, store, manual, give, settle } = opened
      await give([1])
      const asked = store.requests.length
      let closed = false
      const closing = runner.close(10_000).then(() => (closed = true))
      await give([2])
      expect([closed, store.requests.length]).toEqual([false, asked])

      manual.end(0)
      await settle()
      await closing

      expect(store.ends).toEqual([[1, 'completed', 5]])
      expect(clock.now()).toBe(0)
    })

    test('tells to stop what is not done in time, and drops what that brings', async () => {
      await using opened = openRunner()
      const { clock, runner, store, manual, give, settle } = opened
      await give([1])

      const closing = runner.close(3_000)
      await clock.advance(2_999)
      expect(manual.begun[0]!.signal.aborted).toBe(false)
      await clock.advance(1)
      await closing
      expect(manual.begun[0]!.signal.reason).toMatchObject({ reason: 'the runtime is closing' })
      manual.fail(0, new Error('stopped'))
      await settle()

      expect(store.ends).toEqual([])
    })

    test('gives back what it was handed meanwhile', async () => {
      await using opened = openRunner()
      const { clock, runner, store, manual, settle } = opened
      let arrive!: () => void
      store.before = () => new Promise((resolve) => (arrive = resolve))
      store.waiting.push(heldTask(1))
      runner.wake()
      await settle()

      const closing = runner.close(1_000)
      store.before = () => {}
      arrive()
      await clock.until(closing)
      await settle()

      expect(manual.begun).toEqual([])
      expect(store.finished).toMatchObject([
        { results: [{ end: { kind: 'release', delayMs: 0 } }] },
      ])
    })

    test('gives back at once what still waits for a slot', async () => {
      await using opened = openRunner({ most: 1 })
      const { clock, runner, slots, store, manual, settle } = opened
      store.before = () => {
        store.before = () => {}
        // A local activity takes the slot while the claim is under way.
        slots.run(new TestCall(attemptHost(clock)), { perform: () => new Promise(() => {}) })
      }
      store.waiting.push(heldTask(1))
      runner.wake()
      await settle()
      expect(runner.held()).toHaveLength(1)

      slots.close()
      await clock.until(runner.close(10_000))

      expect([clock.now(), manual.begun]).toEqual([0, []])
      expect(store.ends).toEqual([[1, 'release', 5]])
    })
  })

  describe('a task that kills who runs it', () => {
    test('is run up to its fourth death', async () => {
      await using opened = openRunner()
      const { store, manual, give } = opened

      await give([1, { deaths: 4, attempt: 5 }])

      expect([manual.begun.length, store.suspended]).toEqual([1, []])
    })

    test('is not run again after its fifth: its instance is set aside with a report', async () => {
      await using opened = openRunner()
      const { log, store, manual, hints, give } = opened

      await give([1, { id: 'order-1', iid: 31, deaths: 5, attempt: 6 }])

      expect(manual.begun).toEqual([])
      expect(store.suspended).toMatchObject([{ ids: ['order-1'] }])
      expect(values.error(store.suspended[0]!.report)).toMatchObject({
        name: 'PoisonError',
        deaths: 5,
        doing: 'activity "work" as a task',
        message: expect.stringMatching(/^5 runtimes died while running activity "work" as a task;/),
      })
      expect(store.finished).toMatchObject([
        { results: [{ attempt: 6, end: { kind: 'release', delayMs: 3_600_000 } }] },
      ])
      expect(hints).toContainEqual({ iid: 31, owner: null })
      expect(log.at('error')).toEqual(['instance set aside'])
    })

    test('is not in the way of others once its instance is set aside', async () => {
      await using opened = openRunner()
      const { careful, give } = opened

      await give([1, { deaths: 5, attempt: 6 }])

      expect(careful).toEqual(['over'])
    })
  })

  test('a result that can never be stored is told as a failure', async () => {
    await using opened = openRunner()
    const { log, store, manual, give, settle } = opened
    store.before = (method) => {
      const [result] = store.finished.at(-1)?.results ?? []
      if (method !== 'finishTasks' || result?.end.kind !== 'completed') return
      throw new StoreError('rejected', 'finishTasks', 'too large')
    }
    await give([1])

    manual.end(0, 'too much')
    await settle()

    const { end } = store.finished.at(-1)!.results[0]!
    expect(values.error((end as { payload: string }).payload)).toMatchObject({
      message: 'its result could not be stored: finishTasks: too large',
    })
    expect(log.at('error')).toEqual(['the result of a task could not be stored'])
  })
})
