// Looks after the lease of one runtime, in a thread that does not stand still when the runtime does.
//
//   - Silence is what was seen of it: a process that was frozen as a whole, or a machine that
//     slept, is not a loop that hangs.
//   - Where the process is to be ended, what hangs is suspended before anything is given to others,
//     or it would hang them next. When it cannot be suspended, the lease is left to end: so the
//     death counts.
//     One in its first turn is recorded first: else whoever starts it again would hang, too.
//   - Where it is not, the lease is ended as by a death: whoever takes over counts it against what
//     the runtime owned and held, so that what blocks loops again and again is found as poison.
//   - Nothing here waits for ever; a process that is to end does end.

import { writeSync } from 'node:fs'
import { encode } from '../base/codec/codec.ts'
import { errorToData } from '../base/codec/error-data.ts'
import type { InstanceRow } from './instances.ts'
import {
  type ActivityCallSpec,
  type FirstTurn,
  type LeaseOrder,
  SharedLoopHeartbeat,
  sharedMs,
  WARNING_PART,
} from './lease.ts'
import type { WorkflowStore } from './workflow-store.ts'

/** What the thread needs of the store, over a connection that the loop has no part in. */
export interface LeaseStore extends Pick<
  WorkflowStore,
  'look' | 'start' | 'suspend' | 'unregister' | 'finishTasks'
> {
  /** Makes the lease of a runtime end `leaseMs` from now; false when it is not alive any more. */
  renewLease(runtime: number, leaseMs: number): Promise<boolean>
  /** Makes it end now. */
  endLease(runtime: number): Promise<void>
}

/** What the watch does beyond the store. */
export interface Surroundings {
  /** As `sharedMs`. */
  now(): number
  sleep(ms: number): Promise<void>
  /** Writes a line where people find it. */
  say(level: 'warn' | 'error', line: string): void
  endProcess(): void
  /** Told of renewals that failed, once in a row. */
  onTrouble(why: string): void
}

const MAX_CHECK_MS = 5_000
const MIN_CHECK_MS = 10
// What a process does at its end takes no longer than this.
const FAREWELL_MS = 5_000
// Another runtime of the process may know what hangs, and is let go first.
const COURTESY_MS = 2_000
// A task that hangs whoever runs it is left alone for so long, for somebody to look at it.
const SHELVED_MS = 3_600_000

/** How often the watch has to look. */
export function checkMs({ leaseMs, giveUpMs }: LeaseOrder): number {
  return Math.min(MAX_CHECK_MS, Math.max(MIN_CHECK_MS, Math.min(leaseMs, giveUpMs) / 6))
}

/** Watches one event loop. */
export class LeaseWatch {
  readonly #order: LeaseOrder
  readonly #heartbeat: SharedLoopHeartbeat
  readonly #store: LeaseStore
  readonly #around: Surroundings
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

  constructor(order: LeaseOrder, store: LeaseStore, around: Surroundings) {
    this.#order = order
    this.#heartbeat = new SharedLoopHeartbeat(order.memory)
    this.#store = store
    this.#around = around
    this.#checkMs = checkMs(order)
  }

  /** Looks once, and does what is due. Never throws. */
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

  // Of the time between two looks, no more counts than there should be between them.
  #observe(): void {
    const now = this.#around.now()
    const passedMs = Math.min(now - this.#seenMs, 2 * this.#checkMs)
    this.#seenMs = now
    const { beats } = this.#heartbeat
    this.#silentMs = beats === this.#beats ? this.#silentMs + passedMs : 0
    if (this.#silentMs === 0) this.#hasWarned = this.#hasReleased = false
    this.#beats = beats
  }

  async #renewIfLate(): Promise<void> {
    const { leaseMs } = this.#order
    const now = this.#around.now()
    const renewedMs = Math.max(
      this.#heartbeat.renewedMs('loop'),
      this.#heartbeat.renewedMs('thread'),
    )
    const isLate = now >= Math.max(renewedMs + leaseMs / 2, this.#retryMs)
    // Once in any case: what is wrong with the connection is better known before it is needed.
    if (this.#hasTried && !isLate) return
    this.#hasTried = true
    try {
      const isAlive = await this.#store.renewLease(this.#heartbeat.runtime, leaseMs)
      // One that is dead finds out by itself, and goes on under another number.
      if (isAlive) this.#heartbeat.renewed('thread', now)
      this.#failures = 0
    } catch (error) {
      this.#retryMs = this.#around.now() + Math.min(leaseMs, this.#checkMs * 2 ** this.#failures)
      if (this.#failures++ === 0) this.#around.onTrouble(messageOf(error))
    }
  }

  async #giveUp(): Promise<void> {
    const { calling, beats, isDebugged } = this.#heartbeat
    if (this.#order.onHang === 'ignore' || isDebugged) return
    if (this.#order.onHang === 'release') return this.#release()
    const blockedFor = this.#blockedFor
    const what = await this.#inTime(this.#settle(calling, blockedFor)).catch(
      (error: unknown) =>
        `${fault(calling, calling?.first, blockedFor)}; nothing could be suspended: ${messageOf(error)}`,
    )
    this.#around.say('error', `${what}; this process is ended`)
    if (calling === undefined) await this.#around.sleep(COURTESY_MS)
    // It came back in the last moment: it will find itself dead, and start anew.
    if (this.#heartbeat.beats === beats) this.#around.endProcess()
  }

  get #blockedFor(): string {
    return `${Math.round(this.#silentMs / 1000)} s`
  }

  /** Tells people, once each time, while it can still come back. */
  async #warn(): Promise<void> {
    if (this.#hasWarned || this.#order.onHang === 'ignore' || this.#heartbeat.isDebugged) return
    this.#hasWarned = true
    const { onHang, giveUpMs } = this.#order
    const follows = onHang === 'kill' ? 'the process is ended' : 'other runtimes take over its work'
    const what = await this.#name(false)
    this.#around.say('warn', `${what}; after ${Math.round(giveUpMs / 1000)} s ${follows}`)
  }

  /** Lets others take over, and leaves the process alone. */
  async #release(): Promise<void> {
    if (this.#hasReleased) return
    this.#hasReleased = true
    const what = await this.#name(true)
    try {
      await this.#inTime(this.#store.endLease(this.#heartbeat.runtime))
      this.#around.say('error', `${what}; other runtimes take over its work`)
    } catch (error) {
      this.#around.say(
        'error',
        `${what}; its lease could not be ended (${messageOf(error)}): other runtimes take over its work when it is over`,
      )
    }
  }

  /**
   * What blocks the loop, with the id of its instance if the store can be asked. The loop finds it in
   * its memory, for its own log.
   */
  async #name(isReleased: boolean): Promise<string> {
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

  /** Sees to what hangs and to all the rest; answers what happened. */
  async #settle(calling: ActivityCallSpec | undefined, blockedFor: string): Promise<string> {
    const { runtime } = this.#heartbeat
    if (calling === undefined) {
      // Any of its instances may have something to do with it: for all of them this is a death.
      await this.#store.endLease(runtime)
      return fault(undefined, undefined, blockedFor)
    }
    const { first } = calling
    const named = first ?? (await this.#store.look([calling.iid]))[0]
    const what = fault(calling, named, blockedFor)
    const isThere = first === undefined ? named !== undefined : await this.#record(runtime, first)
    if (isThere) await this.#store.suspend([named!.id], report(what))
    await this.#shelve(runtime, calling)
    await this.#store.unregister(runtime)
    return isThere ? `${what}; the instance is suspended` : what
  }

  /** Records an instance in its first turn, due at no time; whether that was done. */
  async #record(runtime: number, { start }: FirstTurn): Promise<boolean> {
    if (start === undefined) return false
    const [verdict] = await this.#store.start([start], start.parent === null ? {} : { runtime })
    return verdict === 'done'
  }

  /** A suspended instance keeps its tasks, which other runtimes could claim. */
  async #shelve(runtime: number, { iid, activity }: ActivityCallSpec): Promise<void> {
    if (activity === undefined) return
    const { execution, command, attempt } = activity
    const end = { kind: 'release', delayMs: SHELVED_MS } as const
    await this.#store.finishTasks(runtime, [{ iid, execution, command, token: null, attempt, end }])
  }

  #inTime<T>(promise: Promise<T>): Promise<T> {
    const late = this.#around.sleep(FAREWELL_MS).then(() => {
      throw new Error(`the database did not answer within ${FAREWELL_MS} ms`)
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
    ? `the event loop is blocked for ${blockedFor}, by code outside workflows and activities, or by ` +
        'an activity after its first await'
    : `${describe(calling, row)} has blocked the event loop for ${blockedFor}`
}

function report(what: string): string {
  const error = new Error(
    `${what}, so the process was ended; look for an endless loop or a long synchronous call, and ` +
      'resume the instance once the code is fixed',
  )
  // That of the thread says nothing.
  delete error.stack
  return encode(errorToData(error))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The surroundings of a thread of this process. */
export function processAround(onTrouble: (why: string) => void): Surroundings {
  return {
    now: sharedMs,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()),
    // A thread's own console goes through the loop that stands still.
    say: (level, line) =>
      void writeSync(2, `${new Date().toISOString()} holdfast ${level}: ${line}\n`),
    // A loop that stands still listens to nothing milder.
    endProcess: () => process.kill(process.pid, 'SIGKILL'),
    onTrouble,
  }
}
