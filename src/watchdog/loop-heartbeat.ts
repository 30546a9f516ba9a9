import type Inspector from 'node:inspector'
import type { Logger } from '../base/log.ts'
import type { LeaseKeeper, OnHang } from '../store/lease-keeper.ts'
import {
  heartbeatMemory,
  SharedLoopHeartbeat,
  sharedMs,
  WARNING_PART,
} from './shared-loop-heartbeat.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'

const BEAT_MS = 1_000

/** How the event loop is watched. */
export interface LoopHeartbeatSetup {
  readonly log: Logger
  readonly leaseMs: number
  /** A loop that is blocked for this long counts as hung. */
  readonly giveUpMs: number
  /** What happens then. */
  readonly onHang: OnHang
}

/**
 * Shows a thread of the store that this event loop is alive, and which code it runs. The thread renews
 * the lease while the loop is blocked, and gives the lease up when the loop hangs.
 *
 * It uses the machine's time, not the clock of the runtime, because it watches the real event loop.
 */
export class LoopHeartbeat {
  /** Memory shared with the thread: notes every call of workflow and activity code. */
  readonly shared: SharedLoopHeartbeat
  readonly #setup: LoopHeartbeatSetup
  #timer: NodeJS.Timeout | undefined
  #keeper: LeaseKeeper | undefined
  #beatMs = Infinity
  /** The loop was late, and the thread may still report what blocked it. */
  #late: { readonly beats: number; readonly blockedMs: number; checks: number } | undefined

  constructor(setup: LoopHeartbeatSetup) {
    this.#setup = setup
    this.shared = new SharedLoopHeartbeat(heartbeatMemory(setup.onHang))
  }

  /** Begins to beat, for a runtime that is registered. */
  start(store: WorkflowStore): void {
    const { log, leaseMs, giveUpMs, onHang } = this.#setup
    this.#beat()
    this.#timer = setInterval(() => this.#beat(), Math.min(BEAT_MS, giveUpMs / 10)).unref()
    const { memory } = this.shared
    const onTrouble = (why: string, isLasting = false): void =>
      log[isLasting ? 'warn' : 'info'](
        { store: store.kind, why },
        'lease is not renewed while the event loop is blocked',
      )
    this.#keeper = store.keepLease?.({ memory, leaseMs, giveUpMs, onHang, onTrouble })
  }

  #beat(): void {
    const nowMs = sharedMs()
    const blockedMs = nowMs - this.#beatMs
    this.#beatMs = nowMs
    if (blockedMs >= this.#setup.giveUpMs * WARNING_PART) {
      this.#late = { beats: this.shared.beats, blockedMs: Math.round(blockedMs), checks: 2 }
    }
    this.shared.beat(isDebugged())
    if (this.#late !== undefined) this.#logBlock(this.#late)
  }

  /** The loop runs again: logs what the thread could only write to stderr. */
  #logBlock(late: { readonly beats: number; readonly blockedMs: number; checks: number }): void {
    const block = this.shared.blockAfter(late.beats)
    // The thread may still be asking the store. It reports nothing when the whole process was frozen.
    if (block === undefined && --late.checks > 0) return
    this.#late = undefined
    if (block === undefined) return
    const { isReleased, ...keys } = block
    this.#setup.log.warn(
      { ...keys, blockedMs: late.blockedMs },
      isReleased
        ? 'event loop blocked for too long; other runtimes take over its work'
        : 'event loop was blocked',
    )
  }

  /** The lease was renewed by a call of the loop that began `agoMs` ago. */
  renewed(agoMs: number): void {
    this.shared.renewed('loop', sharedMs() - agoMs)
  }

  /** Whether the thread has renewed the lease within its length. */
  get isKept(): boolean {
    return sharedMs() - this.shared.renewedMs('thread') <= this.#setup.leaseMs
  }

  /** Ends the thread, or its part in this. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#keeper?.stop()
  }
}

// A process that stops at a breakpoint must not be killed.
function isDebugged(): boolean {
  // Some builds of Node have none.
  const inspector = process.getBuiltinModule('node:inspector') as typeof Inspector | undefined
  return inspector?.url() !== undefined
}
