// The lease of a runtime whose event loop stands still.
//
// A synchronous call of twenty seconds must not cost a runtime all it owns, and an endless loop must
// not keep it for ever. So a thread looks after the lease: it renews it while the loop is merely
// late, and gives the process up when the loop hangs. Both sides meet in a few numbers of shared
// memory, since a loop that stands still answers nobody.
//
//   - Every number has one writer. A renewal is noted by the side that made it, with the moment at
//     which it was asked for.
//   - The thread renews only what the loop is late with: as long as the loop keeps up, no
//     statement is sent.
//   - Whose code is called is written before the call and taken back after it. It is only read
//     once the loop has stood still for as long as it may: nothing changes by then.
//   - No store knows an instance in its first turn. So its id is written as well, and, where the
//     process is to be ended, its start: or whoever starts it again would be blocked again.

import type { StartItem } from './commits.ts'
import type { Iid, WorkflowName } from './instances.ts'
import type { TaskKey } from './tasks.ts'

/** How the lease of a runtime is looked after. Crosses to a thread. */
export interface LeaseOrder {
  /** Of a `SharedPulse`. */
  readonly memory: SharedArrayBuffer
  readonly leaseMs: number
  /** A loop that stood still for so long hangs: its lease is not renewed any more. */
  readonly giveUpMs: number
  readonly onHang: OnHang
}

/**
 * What follows when a loop hangs. `ignore`: the lease ends by itself. `release`: the lease is ended at
 * once, so that others take over, and people are told what hangs. `kill`: what hangs is suspended and
 * the process ended.
 */
export type OnHang = 'ignore' | 'release' | 'kill'

/** What a runtime asks of its store. */
export interface LeaseRequest extends LeaseOrder {
  /** Told why the lease is not looked after; `isLasting` when it never will be. */
  readonly onTrouble: (why: string, isLasting?: boolean) => void
}

/** What looks after the lease of one runtime. */
export interface LeaseKeeper {
  /** Ends it. Resolves when nothing is left of it. */
  stop(): Promise<void>
}

/** Whose code is being called. */
export interface ActivityCallSpec {
  readonly iid: Iid
  /** The activity, or step; `undefined` while the code of the workflow itself is in turn. */
  readonly activity: CalledActivity | undefined
  /** Of an instance in its first turn, which no store knows yet. */
  readonly first?: FirstTurn | undefined
}

/** An instance in its first turn. */
export interface FirstTurn {
  readonly id: string
  readonly workflow: WorkflowName
  /** By which it can be recorded; `undefined` where that is not wanted, or it is too long. */
  readonly start: StartItem | undefined
}

/** What blocked a loop, as the thread found out. */
export interface Block {
  readonly instanceId?: string
  readonly workflow?: string
  readonly activity?: string
  /** Whether the lease was ended, so that others take over. */
  readonly isReleased: boolean
}

/** An attempt of an activity: of a task, or one that could become one. */
export interface CalledActivity {
  readonly name: string
  readonly execution: number
  readonly command: number
  readonly attempt: number
}

const BEATS = 0
const IS_DEBUGGED = 1
const RUNTIME = 2
const RENEWED_BY_LOOP = 3
const RENEWED_BY_THREAD = 4
const CALLED_IID = 5
const NAME_LENGTH = 6
const EXECUTION = 7
const COMMAND = 8
const ATTEMPT = 9
const FIRST_LENGTH = 10
const START_LENGTH = 11
const BLOCK_LENGTH = 12
const BLOCK_BEATS = 13
const NUMBERS_BYTES = 14 * Float64Array.BYTES_PER_ELEMENT
// Longer names are cut in reports.
const NAME_BYTES = 200
// Ids, names and versions fit, however long they may be.
const FIRST_BYTES = 4_096
const BLOCK_BYTES = 8_192
const FIXED_BYTES = NUMBERS_BYTES + NAME_BYTES + FIRST_BYTES + BLOCK_BYTES
// Longer starts are not recorded by the thread.
const START_BYTES = 1 << 18

/**
 * People hear of a loop that stands still after this part of the time in which it is given up. Longer
 * than what counts of a time in which the whole process stood still (see `lease-watch.ts`).
 */
export const WARNING_PART = 1 / 4

/** Memory for a loop heartbeat, with room for starts where they are to be recorded. */
export function heartbeatMemory(onHang: OnHang): SharedArrayBuffer {
  return new SharedArrayBuffer(FIXED_BYTES + (onHang === 'kill' ? START_BYTES : 0))
}

/** What an event loop and the thread that watches it tell each other. */
export class SharedLoopHeartbeat {
  readonly memory: SharedArrayBuffer
  // Plain numbers rather than atomic ones, which would cost more than a turn may: nobody acts on
  // one that changes.
  readonly #numbers: Float64Array
  readonly #name: Buffer
  readonly #first: Buffer
  readonly #block: Buffer
  readonly #start: Buffer
  // What stands in there: the same activity is often called again and again.
  #written = { activity: '', length: 0 }

  constructor(memory = heartbeatMemory('ignore')) {
    this.memory = memory
    this.#numbers = new Float64Array(memory, 0, NUMBERS_BYTES / Float64Array.BYTES_PER_ELEMENT)
    this.#name = Buffer.from(memory, NUMBERS_BYTES, NAME_BYTES)
    this.#first = Buffer.from(memory, NUMBERS_BYTES + NAME_BYTES, FIRST_BYTES)
    this.#block = Buffer.from(memory, FIXED_BYTES - BLOCK_BYTES, BLOCK_BYTES)
    this.#start = Buffer.from(memory, FIXED_BYTES)
  }

  /** The loop lives. A process that is debugged may stand still for as long as somebody looks. */
  beat(isDebugged: boolean): void {
    this.#numbers[IS_DEBUGGED] = Number(isDebugged)
    this.#numbers[BEATS]!++
  }

  get beats(): number {
    return this.#numbers[BEATS]!
  }

  get isDebugged(): boolean {
    return this.#numbers[IS_DEBUGGED] === 1
  }

  /** The number under which the runtime is registered now; 0 before. */
  get runtime(): number {
    return this.#numbers[RUNTIME]!
  }

  set runtime(runtime: number) {
    this.#numbers[RUNTIME] = runtime
  }

  /** The lease was renewed by a call that began at `ms` of `sharedMs`. */
  renewed(by: 'loop' | 'thread', ms: number): void {
    this.#numbers[by === 'loop' ? RENEWED_BY_LOOP : RENEWED_BY_THREAD] = ms
  }

  /** When it was last renewed by one of them; 0 for never. */
  renewedMs(by: 'loop' | 'thread'): number {
    return this.#numbers[by === 'loop' ? RENEWED_BY_LOOP : RENEWED_BY_THREAD]!
  }

  /** The code of a workflow is in turn. */
  beginTurn(iid: Iid): void {
    this.#numbers[CALLED_IID] = iid
  }

  /** The code of a workflow is in its first turn. */
  beginFirstTurn(
    { iid, id, definition }: FirstCopy,
    /** Asked for only where it is wanted. */
    start: () => StartItem,
  ): void {
    const { name, version } = definition
    this.#numbers[FIRST_LENGTH] = this.#first.write([id, name, version].join(SEPARATOR))
    if (this.#start.length > 0) this.#writeStart(JSON.stringify(start()))
    this.#numbers[CALLED_IID] = iid
  }

  #writeStart(text: string): void {
    const fits = Buffer.byteLength(text) <= this.#start.length
    this.#numbers[START_LENGTH] = fits ? this.#start.write(text) : 0
  }

  /** Its turn has ended. */
  endTurn(): void {
    this.#numbers[CALLED_IID] = 0
    this.#numbers[FIRST_LENGTH] = 0
  }

  /** Calls the code of an activity. Whose it is, is known until it returns, a promise at least. */
  callActivity<T>(
    activity: string,
    { key, attempt }: { readonly key: TaskKey; readonly attempt: number },
    code: () => T,
  ): T {
    if (this.#written.activity !== activity) {
      this.#written = { activity, length: this.#name.write(activity) }
    }
    this.#numbers[NAME_LENGTH] = this.#written.length
    this.#numbers[EXECUTION] = key.execution
    this.#numbers[COMMAND] = key.command
    this.#numbers[ATTEMPT] = attempt
    this.#numbers[CALLED_IID] = key.iid
    try {
      return code()
    } finally {
      this.#numbers[CALLED_IID] = 0
      this.#numbers[NAME_LENGTH] = 0
    }
  }

  /** Whose code is called now, if any. */
  get calling(): ActivityCallSpec | undefined {
    const iid = this.#numbers[CALLED_IID]!
    return iid === 0 ? undefined : { iid, activity: this.#activity(), first: this.#firstTurn() }
  }

  #firstTurn(): FirstTurn | undefined {
    const length = this.#numbers[FIRST_LENGTH]!
    if (length === 0) return undefined
    const [id, name, version] = this.#first.toString('utf8', 0, length).split(SEPARATOR)
    const startLength = this.#numbers[START_LENGTH]!
    const start =
      startLength === 0
        ? undefined
        : (JSON.parse(this.#start.toString('utf8', 0, startLength)) as StartItem)
    return { id: id!, workflow: { name: name!, version: version! }, start }
  }

  /** The thread has found out what blocks the loop since its beat of this number. */
  blocked(beats: number, block: Block): void {
    this.#numbers[BLOCK_LENGTH] = this.#block.write(JSON.stringify(block))
    this.#numbers[BLOCK_BEATS] = beats
  }

  /** What blocked the loop after its beat of this number, if the thread has found out. */
  blockAfter(beats: number): Block | undefined {
    if (this.#numbers[BLOCK_BEATS] !== beats) return undefined
    return JSON.parse(this.#block.toString('utf8', 0, this.#numbers[BLOCK_LENGTH])) as Block
  }

  #activity(): CalledActivity | undefined {
    const length = this.#numbers[NAME_LENGTH]!
    if (length === 0) return undefined
    return {
      name: this.#name.toString('utf8', 0, length),
      execution: this.#numbers[EXECUTION]!,
      command: this.#numbers[COMMAND]!,
      attempt: this.#numbers[ATTEMPT]!,
    }
  }
}

/** What is to be known of a copy in its first turn. */
interface FirstCopy {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowName
}

// Texts of a store hold none (P6).
const SEPARATOR = '\u0000'

/** Milliseconds that only ever grow, the same in all threads of a process. */
export function sharedMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e3 + nanoseconds / 1e6
}
