import type { Hint } from '../../src/engine/core/local-runtime.ts'
import type { ActivityContext } from '../../src/engine/define/activity-context.ts'
import { activity, type ActivityDefinition } from '../../src/engine/define/definitions.ts'
import { Slots } from '../../src/engine/runtime/activities/slots.ts'
import { TaskRunner } from '../../src/engine/runtime/activities/task-runner.ts'
import { UNTAGGED } from '../../src/engine/define/served-tags.ts'
import type { ServedTags } from '../../src/store/tasks.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { openWorkers } from '../support/workers.ts'
import { attemptHost } from './attempts.ts'
import { FakeTaskStore, heldTask } from './fake-task-store.ts'

/** Code of an activity whose attempts are ended by hand. */
class Manual {
  readonly begun: ActivityContext[] = []
  readonly #ends: { resolve: (value: unknown) => void; reject: (error: unknown) => void }[] = []

  readonly code = (_: unknown, ctx: ActivityContext): Promise<unknown> => {
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
export function openRunner(
  given: { most?: number; served?: ServedTags; activities?: readonly string[] } = {},
) {
  const workers = openWorkers()
  const { clock } = workers
  const store = new FakeTaskStore()
  const manual = new Manual()
  const host = attemptHost(clock)
  const definition = activity('work', manual.code) as unknown as ActivityDefinition
  const identity = { runtime: 5 }
  const deaths: number[] = []
  const hints: Hint[] = []
  const due: number[] = []
  const quarantined: string[] = []
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
      foundTasks() {},
      tasksIn: (ms) => due.push(ms),
      becoming: () => [],
      beatsOver: () => undefined,
      quarantineOver: () => {
        quarantined.push('over')
        runner.wake()
      },
      hint: (targets) => hints.push(...targets),
    },
    { served: given.served ?? UNTAGGED, maxSessions: 4, sessionIdleMs: 9_000 },
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
    quarantined,
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
