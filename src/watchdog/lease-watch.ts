// Renews the lease of one runtime, in a thread that keeps running while the runtime's event loop is
// blocked.
//
//   - Only time during which this thread ran counts as blocked: a process that was frozen as a whole,
//     or a machine that slept, is not an event loop that hangs.
//   - With `kill`, the instance that hangs is suspended before any other runtime can claim it, or it
//     would hang that runtime next. If it cannot be suspended, the lease is left to expire, so that
//     the death counts. An instance in its first turn is recorded first: otherwise the next runtime
//     that starts it would hang, too.
//   - With `release`, the lease ends as if the runtime had died: the runtime that takes over adds a
//     death to the instances and tasks it owned, so that code which blocks event loops again and
//     again is quarantined.
//   - Nothing here waits forever, and a process that is to be killed is killed.

import { writeSync } from 'node:fs'
import { encode } from '../base/codec/codec.ts'
import { errorToData } from '../base/codec/error-data.ts'
import type { InstanceRow } from '../store/instances.ts'
import type { LeaseOrder } from '../store/lease-keeper.ts'
import {
  type ActivityCallSpec,
  type FirstTurn,
  SharedLoopHeartbeat,
  sharedMs,
  WARNING_PART,
} from './shared-loop-heartbeat.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'

/** What the thread needs of the store, over a connection that does not depend on the event loop. */
export interface LeaseStore extends Pick<
  WorkflowStore,
  'look' | 'start' | 'suspend' | 'unregister' | 'finishTasks'
> {
  /** Makes the lease of a runtime end `leaseMs` from now; false if the runtime is no longer alive. */
  renewLease(runtime: number, leaseMs: number): Promise<boolean>
  /** Makes it end now. */
  endLease(runtime: number): Promise<void>
}

/** What the watch needs of its process. */
export interface ProcessHost {
  /** See `sharedMs`. */
  now(): number
  sleep(ms: number): Promise<void>
  /** Writes a log line, without the event loop. */
  log(level: 'warn' | 'error', line: string): void
  killProcess(): void
  /** Called when a renewal fails, once for several failures in a row. */
  onTrouble(why: string): void
}

const MAX_CHECK_MS = 5_000
const MIN_CHECK_MS = 10
// The calls to the store before the process is killed take no longer than this.
const LAST_CALLS_MS = 5_000
// Another runtime of the process may run the code that hangs: its watch goes first, and names it.
const OTHER_RUNTIMES_MS = 2_000
// A task that hangs is not claimed for this long, so that someone can look at it.
const POSTPONED_MS = 3_600_000

/** How often `check` has to be called. */
export function checkMs({ leaseMs, giveUpMs }: LeaseOrder): number {
  return Math.min(MAX_CHECK_MS, Math.max(MIN_CHECK_MS, Math.min(leaseMs, giveUpMs) / 6))
}

/** Watches one event loop. */
export class LeaseWatch {
  readonly #order: LeaseOrder
  readonly #heartbeat: SharedLoopHeartbeat
  readonly #store: LeaseStore
  readonly #process: ProcessHost
  readonly #checkMs: number
  #beats = -1
  #seenMs = -Infinity
  #silentMs = 0
  #isBusy = false
  #hasWarned = false
  #hasReleased = false
  #hasTried = false
  #failures = 0
  #retryMs = -Infinity

  constructor(order: LeaseOrder, store: LeaseStore, host: ProcessHost) {
    this.#order = order
    this.#heartbeat = new SharedLoopHeartbeat(order.memory)
    this.#store = store
    this.#process = host
    this.#checkMs = checkMs(order)
  }

  /** Checks the event loop once, and does what is due. Never throws. */
  async check(): Promise<void> {
    this.#observe()
    if (this.#isBusy || this.#heartbeat.runtime === 0) return
    this.#isBusy = true
    try {
      if (this.#silentMs >= this.#order.giveUpMs) return await this.#giveUp()
      await this.#renewIfLate()
      if (this.#silentMs >= this.#order.giveUpMs * WARNING_PART) await this.#warn()
    } finally {
      this.#isBusy = false
    }
  }

  // At most twice the regular interval counts between two checks: this thread may have been stopped, too.
  #observe(): void {
    const now = this.#process.now()
    const passedMs = Math.min(now - this.#seenMs, 2 * this.#checkMs)
    this.#seenMs = now
    const { beats } = this.#heartbeat
    this.#silentMs = beats === this.#beats ? this.#silentMs + passedMs : 0
    if (this.#silentMs === 0) this.#hasWarned = this.#hasReleased = false
    this.#beats = beats
  }

  async #renewIfLate(): Promise<void> {
    const { leaseMs } = this.#order
    const now = this.#process.now()
    const renewedMs = Math.max(
      this.#heartbeat.renewedMs('loop'),
      this.#heartbeat.renewedMs('thread'),
    )
    const isLate = now >= Math.max(renewedMs + leaseMs / 2, this.#retryMs)
    // The first renewal is always tried, so that a problem with the connection shows before it matters.
    if (this.#hasTried && !isLate) return
    this.#hasTried = true
    try {
      const isAlive = await this.#store.renewLease(this.#heartbeat.runtime, leaseMs)
      // A runtime that is marked as dead notices that itself, and registers again.
      if (isAlive) this.#heartbeat.renewed('thread', now)
      this.#failures = 0
    } catch (error) {
      this.#retryMs = this.#process.now() + Math.min(leaseMs, this.#checkMs * 2 ** this.#failures)
      if (this.#failures++ === 0) this.#process.onTrouble(messageOf(error))
    }
  }

  async #giveUp(): Promise<void> {
    const { calling, beats, isDebugged } = this.#heartbeat
    if (this.#order.onHang === 'ignore' || isDebugged) return
    if (this.#order.onHang === 'release') return this.#release()
    const blockedFor = this.#blockedFor
    const what = await this.#inTime(this.#suspendCulprit(calling, blockedFor)).catch(
      (error: unknown) =>
        `${fault(calling, calling?.first, blockedFor)}; its work could not be released: ${messageOf(error)}`,
    )
    this.#process.log('error', `${what}; ending this process`)
    if (calling === undefined) await this.#process.sleep(OTHER_RUNTIMES_MS)
    // If the loop came back at the last moment, the runtime finds itself dead and registers again.
    if (this.#heartbeat.beats === beats) this.#process.killProcess()
  }

  get #blockedFor(): string {
    return `${Math.round(this.#silentMs / 1000)} s`
  }

  /** Logs a warning, once for each block, while the loop can still come back. */
  async #warn(): Promise<void> {
    if (this.#hasWarned || this.#order.onHang === 'ignore' || this.#heartbeat.isDebugged) return
    this.#hasWarned = true
    const { onHang, giveUpMs } = this.#order
    const follows =
      onHang === 'kill' ? 'the process is killed' : 'other runtimes take over its work'
    const what = await this.#describeBlock(false)
    this.#process.log('warn', `${what}; after ${Math.round(giveUpMs / 1000)} s ${follows}`)
  }

  /** Lets other runtimes take over, and leaves the process running. */
  async #release(): Promise<void> {
    if (this.#hasReleased) return
    this.#hasReleased = true
    const what = await this.#describeBlock(true)
    try {
      await this.#inTime(this.#store.endLease(this.#heartbeat.runtime))
      this.#process.log('error', `${what}; other runtimes take over its work`)
    } catch (error) {
      this.#process.log(
        'error',
        `${what}; its lease could not be ended (${messageOf(error)}); other runtimes take over its work when the lease expires`,
      )
    }
  }

  /**
   * Describes what blocks the loop, with the id of the instance if the store answers. Also puts it into
   * the shared memory, where the event loop reads it for its own log.
   */
  async #describeBlock(isReleased: boolean): Promise<string> {
    const { calling } = this.#heartbeat
    const blockedFor = this.#blockedFor
    const beats = this.#beats
    const named = calling && (calling.first ?? (await this.#look(calling)))
    this.#heartbeat.blocked(beats, {
      ...(named && { instanceId: named.id, workflow: named.workflow.name }),
      ...(calling?.activity && { activity: calling.activity.name }),
      isReleased,
    })
    return fault(calling, named, blockedFor)
  }

  async #look({ iid }: ActivityCallSpec): Promise<InstanceRow | undefined> {
    const [row] = await this.#inTime(this.#store.look([iid])).catch(() => [undefined])
    return row
  }

  /** Suspends the instance that hangs and gives up everything else; returns what was done. */
  async #suspendCulprit(
    calling: ActivityCallSpec | undefined,
    blockedFor: string,
  ): Promise<string> {
    const { runtime } = this.#heartbeat
    if (calling === undefined) {
      // Any of its instances may be the cause, so this counts as a death for all of them.
      await this.#store.endLease(runtime)
      return fault(undefined, undefined, blockedFor)
    }
    const { first } = calling
    const named = first ?? (await this.#store.look([calling.iid]))[0]
    const what = fault(calling, named, blockedFor)
    const isThere = first === undefined ? named !== undefined : await this.#record(runtime, first)
    if (isThere) await this.#store.suspend([named!.id], report(what))
    await this.#postpone(runtime, calling)
    await this.#store.unregister(runtime)
    return isThere ? `${what}; the instance is suspended` : what
  }

  /** Records an instance in its first turn, without a wake time; returns whether that succeeded. */
  async #record(runtime: number, { start }: FirstTurn): Promise<boolean> {
    if (start === undefined) return false
    const [verdict] = await this.#store.start([start], start.parent === null ? {} : { runtime })
    return verdict === 'done'
  }

  /** Postpones the task: a suspended instance keeps its tasks, and other runtimes could claim them. */
  async #postpone(runtime: number, { iid, activity }: ActivityCallSpec): Promise<void> {
    if (activity === undefined) return
    const { execution, command, attempt } = activity
    const end = { kind: 'release', delayMs: POSTPONED_MS } as const
    await this.#store.finishTasks(runtime, [{ iid, execution, command, token: null, attempt, end }])
  }

  #inTime<T>(promise: Promise<T>): Promise<T> {
    const late = this.#process.sleep(LAST_CALLS_MS).then(() => {
      throw new Error(`the database did not answer within ${LAST_CALLS_MS} ms`)
    })
    late.catch(() => {})
    return Promise.race([promise, late])
  }
}

type Named = Pick<InstanceRow, 'id' | 'workflow'>

function describe(calling: ActivityCallSpec, row: Named | undefined): string {
  const instance =
    row === undefined
      ? `instance number ${calling.iid}`
      : `instance "${row.id}" of workflow "${row.workflow.name}" ${row.workflow.version}`
  return calling.activity === undefined
    ? instance
    : `activity "${calling.activity.name}" of ${instance}`
}

function fault(
  calling: ActivityCallSpec | undefined,
  row: Named | undefined,
  blockedFor: string,
): string {
  return calling === undefined
    ? `the event loop has been blocked for ${blockedFor}, by code outside workflows and activities, or by ` +
        'an activity after its first await'
    : `${describe(calling, row)} has blocked the event loop for ${blockedFor}`
}

function report(what: string): string {
  const error = new Error(
    `${what}, so the process was ended; look for an endless loop or a long synchronous call, and ` +
      'resume the instance once the code is fixed',
  )
  // The stack of this thread would be misleading.
  delete error.stack
  return encode(errorToData(error))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The process that this thread belongs to. */
export function currentProcess(onTrouble: (why: string) => void): ProcessHost {
  return {
    now: sharedMs,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()),
    // The console of a thread goes through the main event loop, which is blocked.
    log: (level, line) =>
      void writeSync(2, `${new Date().toISOString()} holdfast ${level}: ${line}\n`),
    // A blocked event loop cannot handle any other signal.
    killProcess: () => process.kill(process.pid, 'SIGKILL'),
    onTrouble,
  }
}
