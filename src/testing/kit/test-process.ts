// One process of a test: an engine on the shared store, which can crash.

import type { ResolvedCodec } from '../../base/codec/codec-option.ts'
import type { Logger } from '../../base/log.ts'
import { RuntimeClient } from '../../engine/client/runtime-client.ts'
import type { LimitGuard } from '../../engine/core/limits.ts'
import type { Values } from '../../engine/core/values.ts'
import type { Registry } from '../../engine/define/registry.ts'
import { servedTags } from '../../engine/define/served-tags.ts'
import { EngineRuntime } from '../../engine/runtime/runtime.ts'
import type { IssuedCommand } from '../../engine/replay/execution.ts'
import type { Iid } from '../../store/instances.ts'
import { endLease } from '../../sqlite/thread/leases.ts'
import type { CallerThread } from '../../sqlite/thread/caller-thread.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { Seeded } from './seeded.ts'
import { callersView, type ClockView, type TestClock } from './test-clock.ts'
import { type CallObserver, never, type Settled, storeFor } from './test-store.ts'

const DAY_MS = 86_400_000

/** What stands between a process and its store. */
export type ObserveProcess = (process: TestProcess) => CallObserver

/** What all processes of a test share. */
export interface TestWorld {
  readonly thread: CallerThread
  readonly clock: TestClock
  readonly registry: Registry
  readonly values: Values
  readonly guard: LimitGuard
  readonly chain: ResolvedCodec['chain']
  /** A store on the database of the test, for one process. */
  makeStore(): WorkflowStore
  readonly log: Logger
  readonly seeded: Seeded
  readonly replaysTurns: boolean
  /** Learns which commands a turn issued, before they are committed. */
  readonly onTurn?: ((iid: Iid, issued: readonly IssuedCommand[]) => void) | undefined
}

/** A process that runs workflows, until it crashes. */
export class TestProcess {
  /** Which one it is, from 1; one that takes the place of another has its number. */
  readonly number: number
  readonly #world: TestWorld
  readonly #view: ClockView
  readonly #observer: CallObserver | undefined
  #runtime: EngineRuntime | undefined
  #isDead = false
  #thawed: Promise<void> | undefined
  #deafUntilMs = 0

  constructor(world: TestWorld, number: number, observe: ObserveProcess | undefined) {
    this.number = number
    this.#world = world
    this.#view = world.clock.view()
    this.#observer = observe?.(this)
  }

  get runtime(): EngineRuntime | undefined {
    return this.#runtime
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Whether the caller is an activity that this process runs. */
  get isCaller(): boolean {
    return callersView() === this.#view
  }

  async open(): Promise<void> {
    const { clock, registry, values, log, seeded, replaysTurns, onTurn } = this.#world
    const user = {
      clock,
      view: this.#view,
      isDead: () => this.#isDead,
      receivesHints: () => this.#receivesHints,
      ...(this.#observer && { observer: this.#unlessFrozen(this.#observer) }),
    }
    const store = storeFor(this.#world.makeStore(), user)
    const { guard, chain } = this.#world
    const setup = { store, registry, values, guard, chain, clock: this.#view, log, ...seeded }
    const runtime = await EngineRuntime.open({
      ...setup,
      // Time may jump by years, and another process takes over as soon as this one crashes.
      leaseMs: 1_000 * 365 * DAY_MS,
      giveUpMs: 60_000,
      onHang: 'ignore',
      maxInstances: 2_000,
      maxActivities: 200,
      tasks: { served: servedTags('any', 'tags'), maxSessions: 10, sessionIdleMs: 300_000 },
      guarded: true,
      failsForgotten: true,
      restMs: 0,
      replaysTurns,
      info: 'test',
      ...(onTurn && { onTurn }),
    })
    this.#runtime = runtime
    runtime.serve(new RuntimeClient({ ...setup, runtime }))
  }

  /** Looks for work that no notification has announced. */
  look(): void {
    if (!this.#isDead && this.#receivesHints) this.#runtime?.lookNow()
  }

  /** Ends at once: nothing it does from now on has an effect. */
  crash(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#view.kill()
    this.#runtime?.abandon()
    // Other processes of the machine see at once that it is gone.
    this.#endLease()
  }

  /**
   * Does nothing for so long, as on a machine that is suspended. Its lease is over at once, so that others
   * take over. Then it goes on where it was, and learns that it is too late.
   */
  freeze(ms: number): void {
    if (this.#isDead || this.#thawed !== undefined) return
    this.#view.freeze()
    this.#endLease()
    this.#thawed = new Promise((resolve) => {
      this.#world.clock.after(ms, () => {
        this.#thawed = undefined
        this.#view.thaw()
        resolve()
      })
    })
  }

  /** A call of the store takes so long. */
  pause(ms: number): Promise<void> {
    return this.#view.pauseFor(new Promise((resolve) => void this.#view.after(ms, resolve)))
  }

  /** Receives no notification for so long. */
  deafen(ms: number): void {
    const { clock } = this.#world
    this.#deafUntilMs = Math.max(this.#deafUntilMs, clock.now() + ms)
    clock.after(ms, () => this.look())
  }

  get #receivesHints(): boolean {
    return this.#world.clock.now() >= this.#deafUntilMs && this.#thawed === undefined
  }

  #endLease(): void {
    const number = this.#runtime?.number
    if (number === undefined) return
    const { database } = this.#world.thread.shared
    database.write('sqlite endLease', 0, (tx) => endLease(tx, number), false)
  }

  /** Neither a call nor an answer passes while it is frozen. */
  #unlessFrozen(observer: CallObserver): CallObserver {
    const thawed = async (): Promise<void> => {
      while (this.#thawed !== undefined) await this.#view.pauseFor(this.#thawed)
      if (this.#isDead) await never()
    }
    return {
      around: async (name, args, send) => {
        const sendLater = async (): Promise<Settled> => {
          await thawed()
          return send()
        }
        await thawed()
        const answer = await observer.around(name, args, sendLater)
        await thawed()
        return answer
      },
    }
  }
}
