// Claims tasks: activities that wait in the store for a runtime, of instances that any runtime owns. A
// task is claimed only for a free slot.

import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { ServedTags, TaskInterest } from '../../../store/tasks.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { HintExchange } from '../discover/hint-exchange.ts'
import type { Registration } from '../discover/registration.ts'
import type { SlotWatcher } from './slots.ts'
import { taskName } from './task-names.ts'
import { releaseOf, type TaskRunner } from './task-runner.ts'

const MAX_AT_ONCE = 64
// The shortest wait for what is due next, even when the clocks disagree.
const MIN_WAIT_MS = 10

/** Which tasks a runtime runs. */
export interface TaskPolicy {
  readonly served: ServedTags
  readonly maxSessions: number
  readonly sessionIdleMs: number
}

/** Claims tasks for the slots that are free. */
export class TaskClaimer implements SlotWatcher {
  readonly #core: RuntimeCore
  readonly #registration: Registration
  readonly #hints: HintExchange
  readonly #tasks: TaskRunner
  readonly #policy: TaskPolicy
  /** Shared with the tasks that end here: two notifiers would lead to two claims. */
  readonly #wake: Notify
  readonly #alarm = { ring: () => this.wake() }
  readonly #claimed = notify()
  /** How many claims were begun, and the last one that is over. */
  #claims = 0
  #lastClaim = { number: 0, isEmpty: false }
  #isFull = false
  /** Whether the store may have handed out tasks without this process knowing. */
  #isAnswerLost = false

  constructor(
    core: RuntimeCore,
    registration: Registration,
    hints: HintExchange,
    tasks: TaskRunner,
    policy: TaskPolicy,
  ) {
    this.#core = core
    this.#registration = registration
    this.#hints = hints
    this.#tasks = tasks
    this.#policy = policy
    this.#wake = tasks.owned.freed
  }

  /** Claims now: there may be tasks. */
  wake(): void {
    this.#wake.notifyOne()
  }

  /** There may be tasks at this moment of store time. */
  wakeAt(at: number): void {
    if (!this.#core.closing.aborted) this.#core.alarms.set(this.#alarm, at)
  }

  /** A slot is free, and nothing waits for it. */
  slotFreed(): void {
    if (this.#isFull) this.wake()
  }

  /** Which tasks this runtime can run, as far as known; `null` when it runs none. */
  get interest(): TaskInterest | null {
    const { served } = this.#policy
    if (this.#core.closing.aborted) return null
    if (!served.untagged && served.tags !== 'any' && served.tags.length === 0) return null
    return { activities: this.#core.registry.activityNames, served }
  }

  /** Claims, and returns whether there was nothing to claim. */
  async findsNothing(): Promise<boolean> {
    const before = this.#claims
    while (this.#lastClaim.number <= before) {
      if ((this.interest?.activities.length ?? 0) === 0) return true
      this.wake()
      await this.#claimed.wait()
    }
    return this.#lastClaim.isEmpty
  }

  /** Claims nothing more: `findsNothing` resolves. */
  close(): void {
    this.#claimed.notifyAll()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 100, max: 5_000 }
    return worker('tasks', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () =>
      this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    const number = ++this.#claims
    // Until the store says that there is nothing, there may be something.
    let isEmpty = false
    try {
      const { interest } = this
      const limit = Math.min(this.#tasks.slots.free, MAX_AT_ONCE)
      this.#isFull = limit <= 0
      if (interest === null || interest.activities.length === 0 || this.#isFull) return idle()
      const count = await this.#claim(interest, limit)
      isEmpty = count === 0
      return count === undefined || count === limit ? proceed() : idle()
    } finally {
      this.#lastClaim = { number, isEmpty }
      this.#claimed.notifyAll()
    }
  }

  /** Begins the tasks it claims. Returns how many, or `undefined` when this runtime was declared dead. */
  async #claim(interest: TaskInterest, limit: number): Promise<number | undefined> {
    const { store, clock, time } = this.#core
    const runtime = this.#registration.number
    if (this.#isAnswerLost) await this.#giveBackUnknown(runtime)
    this.#isAnswerLost = true
    const { maxSessions, sessionIdleMs } = this.#policy
    const request = { ...interest, runtime, limit, maxSessions, sessionIdleMs }
    const askedMs = clock.now()
    const answer = await store.claimTasks(request)
    this.#isAnswerLost = false
    time.saw(answer.clock, askedMs)
    if (answer.state === 'dead') {
      await this.#registration.onDead(runtime)
      return undefined
    }
    this.#hints.found(answer.tasks.length)
    for (const task of answer.tasks) this.#tasks.begin(runtime, task)
    // Not at that time of the store, whose clock may have jumped back: see Claimer.
    if (answer.nextDue !== null)
      this.wakeAt(time.now() + Math.max(answer.nextDue - answer.clock, MIN_WAIT_MS))
    return answer.tasks.length
  }

  /**
   * Gives back tasks claimed by a call whose answer was lost: they would never run.
   *
   * Awaited: if it were sent again after the next claim, it would release the tasks of that claim.
   */
  async #giveBackUnknown(runtime: number): Promise<void> {
    const { store } = this.#core
    const before = this.#knownNames()
    const stored = await store.ownedTasks(runtime)
    // Results that are known here may not have reached the store when it looked.
    const known = new Set([...before, ...this.#knownNames()])
    const unknown = stored.filter((key) => !known.has(taskName(key)))
    const releases = unknown.map((task) => releaseOf({ ...task, token: null }))
    if (releases.length > 0) await store.finishTasks(runtime, releases)
  }

  /** Tasks of which the store may rightly say that this runtime owns them. */
  #knownNames(): readonly string[] {
    const { owned, results, attempts } = this.#tasks
    const keys = [...attempts.beats.becoming(), ...results.keys()]
    return [...owned.names(), ...keys.map(taskName)]
  }
}
