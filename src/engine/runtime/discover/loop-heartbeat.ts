import type Inspector from 'node:inspector'
import type { Logger } from '../../../base/log.ts'
import {
  type LeaseKeeper,
  type OnHang,
  pulseMemory,
  SharedLoopHeartbeat,
  sharedMs,
  WARNING_PART,
} from '../../../store/lease.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'

const BEAT_MS = 1_000

/** What a pulse is made of. */
export interface LoopHeartbeatSetup {
  readonly log: Logger
  readonly leaseMs: number
  /** A loop that stood still for so long is given up. */
  readonly giveUpMs: number
  /** What follows then. */
  readonly onHang: OnHang
}

/**
 * Says that this event loop lives, and whose code it is busy with, where a thread of the store sees
 * it. The thread renews the lease while the loop stands still, and gives it up when it hangs.
 *
 * It goes by the machine's time, whatever clock the runtime has: it is about this very loop.
 */
export class LoopHeartbeat {
  /** To be told of every call of code that is not ours. */
  readonly shared: SharedLoopHeartbeat
  readonly #setup: LoopHeartbeatSetup
  #timer: NodeJS.Timeout | undefined
  #keeper: LeaseKeeper | undefined
  #beatMs = Infinity
  /** The loop was late, and what blocked it may still become known. */
  #late: { readonly beats: number; readonly blockedMs: number; looks: number } | undefined

  constructor(setup: LoopHeartbeatSetup) {
    this.#setup = setup
    this.shared = new SharedLoopHeartbeat(pulseMemory(setup.onHang))
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
        'the lease is not renewed while the event loop is busy',
      )
    this.#keeper = store.keepLease?.({ memory, leaseMs, giveUpMs, onHang, onTrouble })
  }

  #beat(): void {
    const nowMs = sharedMs()
    const blockedMs = nowMs - this.#beatMs
    this.#beatMs = nowMs
    if (blockedMs >= this.#setup.giveUpMs * WARNING_PART) {
      this.#late = { beats: this.shared.beats, blockedMs: Math.round(blockedMs), looks: 2 }
    }
    this.shared.beat(isDebugged())
    if (this.#late !== undefined) this.#tellBlock(this.#late)
  }

  /** The loop is back: says what the thread could only write to stderr. */
  #tellBlock(late: { readonly beats: number; readonly blockedMs: number; looks: number }): void {
    const block = this.shared.blockAfter(late.beats)
    // The thread may still be asking the store. It says nothing of a process that stood still as a whole.
    if (block === undefined && --late.looks > 0) return
    this.#late = undefined
    if (block === undefined) return
    const { isReleased, ...keys } = block
    this.#setup.log.warn(
      { ...keys, blockedMs: late.blockedMs },
      isReleased
        ? 'the event loop was blocked for too long; other runtimes take over its work'
        : 'the event loop was blocked',
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

// Who stands at a breakpoint must not find the process gone.
function isDebugged(): boolean {
  // Some builds of Node have none.
  const inspector = process.getBuiltinModule('node:inspector') as typeof Inspector | undefined
  return inspector?.url() !== undefined
}
