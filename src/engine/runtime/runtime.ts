// A runtime: one process's share of the work. It registers with the store, starts the loops that claim,
// turn, commit and tick, each a supervised worker, and is what the client of its process calls.

import type { Announcement } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { supervise, type Supervisor } from '../../workers/supervisor.ts'
import type { Endings, Listeners } from '../core/endings.ts'
import type { IidPool } from '../core/iid-pool.ts'
import type { ChangeFeed, MailHint, LocalAttempt, LocalRuntime } from '../core/local-runtime.ts'
import { resend } from '../core/resend.ts'
import { watchUnhandledRejections } from '../core/unhandled-rejections.ts'
import type { Client } from '../define/client.ts'
import type { RuntimeHealth } from '../define/runtime.ts'
import { LocalCall } from './activities/local-call.ts'
import { remover } from './discover/remover.ts'
import { guardGlobals } from './guard-globals.ts'
import { loadReporter } from './load-reporter.ts'
import type { Starts } from './schedule/starts.ts'
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
    const { registration, heartbeat, committer, scheduler, finder } = runtime.#services
    const { ticker, activities, listener, schedules } = runtime.#services
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
        schedules.work(),
        ...activities.workers(),
        ...loadReporter(runtime.#services),
        ...remover(
          setup,
          setup.registry.workflows.flatMap(
            ({ retentionMs = setup.retentionMs ?? [] }) => retentionMs,
          ),
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

  get starts(): Starts {
    return this.#services.starts
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

  schedulesChanged(): void {
    this.#services.schedules.wake()
  }

  hint(targets: readonly MailHint[]): void {
    this.#services.finder.hint(targets)
  }

  recall(iids: readonly Iid[]): void {
    this.#services.scheduler.eviction.supersedeAll(iids)
  }

  announce(announcement: Announcement): void {
    this.#services.finder.hints.announce(announcement)
  }

  get changes(): ChangeFeed {
    return this.#services.finder.hints.changes
  }

  /**
   * Ends this runtime: running activities may finish for `drainMs`, then their signals abort. All
   * instances are released, so that another runtime continues them at once.
   */
  async close(drainMs: number): Promise<void> {
    const { core, heartbeat, registration, committer, finder } = this.#services
    const { scheduler, starts, remote, activities, schedules } = this.#services
    this.#closing.abort()
    schedules.close()
    // Otherwise commands that another transaction blocks would keep their instances here.
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
      this.announce({ kind: 'freed' })
    } finally {
      await finder.hints.close()
    }
  }

  /**
   * Ends at once and tells the store nothing, as if the process had ended. What it does from now on must
   * not reach the store. For tests.
   */
  abandon(): void {
    const { core, heartbeat, scheduler, finder } = this.#services
    this.#closing.abort()
    for (const stop of this.#stopWatching) stop()
    for (const instance of scheduler.instances) instance.calls.abortAll('the runtime crashed')
    core.alarms.clear()
    void heartbeat.stop()
    void finder.hints.close()
  }

  /** Asks the store for everything that a notification may have failed to announce. */
  lookNow(): void {
    this.#services.ticker.wake()
  }

  /** The number under which the store knows it. */
  get number(): number {
    return this.#services.registration.number
  }

  /** The state of its parts. */
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
