// A runtime: one process's share of the work. It registers with the store, starts the loops that claim,
// turn, commit and tick, each a supervised worker, and is what the client of its process calls.

import type { Abortable } from '../../base/sync/on-abort.ts'
import type { Announcement } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { supervise, type Supervisor } from '../../workers/supervisor.ts'
import type { Endings, Listeners } from '../core/endings.ts'
import type { IidPool } from '../core/iid-pool.ts'
import type { ChangeFeed, Hint, LocalAttempt, LocalRuntime } from '../core/local-runtime.ts'
import { resend } from '../core/resend.ts'
import type { NewInstance, StartOutcome } from '../core/start-item.ts'
import { watchUnhandledRejections } from '../core/unhandled-rejections.ts'
import type { Client } from '../define/client.ts'
import type { RuntimeHealth } from '../define/runtime.ts'
import { LocalCall } from './activities/local-call.ts'
import { remover } from './discover/remover.ts'
import { guardGlobals } from './guard-globals.ts'
import { buildServices, type RuntimeServices, type RuntimeSetup } from './services.ts'
import { untilIdle } from './until-idle.ts'

// close() does not wait for a store that does not answer: nothing is lost by leaving early, other
// runtimes only have to wait for the end of the lease.
const STOP_MS = 5_000
const GOODBYE_MS = 2_000

/** The engine of one process. */
export class EngineRuntime implements LocalRuntime {
  readonly #services: RuntimeServices
  #supervisor: Supervisor | undefined
  readonly #stopWatching: (() => void)[] = []
  readonly #closing = new AbortController()

  private constructor(setup: RuntimeSetup) {
    this.#services = buildServices(setup, this.#closing.signal)
  }

  /** Registers with the store and begins to work. */
  static async open(setup: RuntimeSetup): Promise<EngineRuntime> {
    const runtime = new EngineRuntime(setup)
    const { registration, heartbeat, committer, scheduler, finder, ticker, activities, listener } =
      runtime.#services
    await setup.store.open(setup)
    // The server may be restarting. A registration whose answer was lost ends with its lease.
    await resend(
      setup.clock,
      () => registration.register(),
      ({ code }) => code === 'connection_lost',
    )
    setup.store.onPromotion?.(() => registration.rollBack())
    heartbeat.start(setup.store)
    runtime.#stopWatching.push(watchUnhandledRejections())
    if (setup.guarded) runtime.#stopWatching.push(guardGlobals())
    runtime.#supervisor = supervise(
      [
        committer.work(),
        scheduler.turns.work(),
        finder.claimer.work(),
        ticker.work(),
        finder.mail.work(),
        ...activities.workers(),
        ...remover(
          setup,
          setup.registry.workflows.flatMap(({ retentionMs = [] }) => retentionMs),
        ),
      ],
      { log: setup.log, clock: setup.clock },
    )
    listener.open()
    return runtime
  }

  /** What activities reach as `ctx.client`. */
  serve(client: Client): void {
    this.#services.activities.attempts.serve(client)
  }

  start(start: NewInstance, signal?: Abortable): Promise<StartOutcome> {
    return this.#services.starts.start(start, signal)
  }

  get iids(): IidPool {
    return this.#services.iids
  }

  owns(iid: Iid): boolean {
    return this.#services.scheduler.instances.get(iid) !== undefined
  }

  attemptAt(iid: Iid, command: number): LocalAttempt | undefined {
    const attempt = this.#services.scheduler.instances.get(iid)?.calls.attempt(command)
    return attempt instanceof LocalCall ? attempt : undefined
  }

  /** Callers in this process that wait for the end of an instance. */
  get endings(): Endings {
    return this.#services.scheduler.endings
  }

  /** Callers in this process that wait for the reply to a request. */
  get replied(): Listeners<string, void> {
    return this.#services.scheduler.afterCommit.replied
  }

  storeNow(): number {
    return this.#services.core.time.now()
  }

  claimNow(): void {
    this.#services.finder.claimer.wake()
  }

  hint(targets: readonly Hint[]): void {
    this.#services.finder.hint(targets)
  }

  recall(iids: readonly Iid[]): void {
    this.#services.scheduler.eviction.supersedeAll(iids)
  }

  tell(news: Announcement): void {
    this.#services.finder.hints.tell(news)
  }

  get changes(): ChangeFeed {
    return this.#services.finder.hints.news
  }

  /**
   * Ends this runtime: running activities may finish for `drainMs`, then their signals abort. All
   * instances are released, so that another runtime goes on at once.
   */
  async close(drainMs: number): Promise<void> {
    const { core, heartbeat, registration, committer, finder } = this.#services
    const { scheduler, starts, remote, activities } = this.#services
    this.#closing.abort()
    // What instances asked for and another transaction blocks would keep them here.
    starts.forgetChildren()
    remote.close()
    await Promise.all([scheduler.close(drainMs), activities.close(drainMs)])
    const stopAtMs = core.clock.now() + STOP_MS
    await this.#supervisor?.stop({ within: STOP_MS })
    committer.close()
    starts.close()
    core.alarms.clear()
    for (const stop of this.#stopWatching) stop()
    await heartbeat.stop()
    try {
      await registration.unregister(Math.max(stopAtMs - core.clock.now(), GOODBYE_MS))
      // Other runtimes can claim what it owned.
      this.tell({ kind: 'freed' })
    } finally {
      await finder.hints.close()
    }
  }

  /** How its parts are doing. */
  health(): RuntimeHealth {
    return {
      workers: this.#supervisor?.health() ?? [],
      hints: this.#services.finder.hints.health(),
      undelivered: this.#services.ticker.undelivered,
    }
  }

  /** Resolves when nothing is due. */
  idle(signal: AbortSignal | undefined): Promise<void> {
    return untilIdle(
      {
        clock: this.#services.core.clock,
        isQuiet: () => this.#isQuiet(),
        hasNothingDue: () => this.#hasNothingDue(),
      },
      signal,
    )
  }

  #isQuiet(): boolean {
    if (this.#services.activities.tasks.isBusy || this.#services.committer.size > 0) return false
    if (this.#services.starts.blocked > 0) return false
    return this.#services.scheduler.isQuiet()
  }

  async #hasNothingDue(): Promise<boolean> {
    const due = await this.#services.ticker.ask()
    if (due.work) return false
    return !due.tasks || (await this.#services.activities.claimer.findsNothing())
  }
}
