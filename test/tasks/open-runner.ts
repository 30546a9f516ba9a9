import type { MailHint } from '../../src/engine/core/local-runtime.ts'
import type { ActivityContext } from '../../src/engine/define/activity-context.ts'
import { activity, type ActivityDefinition } from '../../src/engine/define/definitions.ts'
import { Slots } from '../../src/engine/runtime/activities/slots.ts'
import { TaskClaimer } from '../../src/engine/runtime/activities/task-claimer.ts'
import { TaskRunner } from '../../src/engine/runtime/activities/task-runner.ts'
import { UNTAGGED } from '../../src/engine/define/served-tags.ts'
import type { ServedTags } from '../../src/store/tasks.ts'
import type { Registration } from '../../src/engine/runtime/discover/registration.ts'
import type { WorkFinder } from '../../src/engine/runtime/discover/work-finder.ts'
import { openWorkers } from '../support/workers.ts'
import { partOf, testCore } from '../support/runtime-core.ts'
import { testAttempts, testBeats } from './attempts.ts'
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
  const { clock, log } = workers
  const store = new FakeTaskStore()
  const manual = new Manual()
  const definition = activity('work', manual.code) as unknown as ActivityDefinition
  const closing = new AbortController()
  const core = testCore(clock, {
    log,
    store,
    registry: {
      activityNames: given.activities ?? ['work'],
      activity: (name) => (name === 'work' ? definition : undefined),
    },
    closing: closing.signal,
  })
  const due: number[] = []
  core.alarms.set = (_, at) => void due.push(at - core.time.now())
  let gate: Promise<void> | undefined
  const deaths: number[] = []
  const identity = { runtime: 5 }
  const registration = partOf<Registration>({
    get number() {
      return identity.runtime
    },
    lease: partOf<Registration['lease']>({ untilValid: () => gate }),
    async onDead(runtime) {
      deaths.push(runtime)
      store.state = 'ok'
      die()
    },
  })
  /** Declares the runtime dead, as any loop of it may find out. */
  const die = (): void => {
    identity.runtime++
    runner.owned.supersede('another runtime has taken over')
  }
  const hints: MailHint[] = []
  const quarantined: string[] = []
  const finder = partOf<WorkFinder>({
    hints: partOf<WorkFinder['hints']>({ found() {} }),
    claimer: partOf<WorkFinder['claimer']>({ wake: () => void quarantined.push('over') }),
    hint: (targets) => void hints.push(...targets),
    look: (iids) => void hints.push(...iids.map((iid) => ({ iid, owner: null }))),
  })
  const slots = new Slots(core, given.most ?? 3)
  const attempts = testAttempts(core, testBeats(), registration)
  const runner = new TaskRunner(core, registration, finder, slots, attempts)
  const claimer = new TaskClaimer(core, registration, finder.hints, runner, {
    served: given.served ?? UNTAGGED,
    maxSessions: 4,
    sessionIdleMs: 9_000,
  })
  slots.reportTo(claimer)
  workers.keep(claimer.work())
  workers.keep(runner.results.work())
  return {
    clock,
    log,
    store,
    manual,
    slots,
    runner,
    claimer,
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
    die,
    /** Closes it as a runtime does. */
    close: (drainMs: number) => {
      closing.abort()
      claimer.close()
      return runner.close(drainMs)
    },
    /** Hands tasks out. */
    give: async (...tasks: Parameters<typeof heldTask>[]) => {
      store.waiting.push(...tasks.map((task) => heldTask(...task)))
      claimer.wake()
      await clock.advance(0)
    },
    settle: () => clock.advance(0),
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  }
}
