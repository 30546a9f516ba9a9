// The memory that an event loop shares with the thread that watches it.
//
// A synchronous call of twenty seconds must not cost a runtime all it owns, and an endless loop must
// not keep it forever. So a thread keeps the lease: it renews the lease while the event loop is merely
// late, and gives the process up when the loop hangs. The two communicate through a few numbers in
// shared memory, because a blocked event loop cannot answer a message.
//
//   - Every number has one writer. The side that renews the lease records the time at which it asked
//     for the renewal.
//   - The thread renews the lease only when the event loop is late with it. While the loop keeps up,
//     the thread sends no statement.
//   - The loop records whose code it calls before the call, and clears that after it. The thread reads
//     it only once the loop has been blocked for too long, when it no longer changes.
//   - The store does not have an instance in its first turn yet. So its id is recorded as well, and,
//     if the process is to be killed, its start: otherwise the next runtime that starts the instance
//     would hang, too.

import type { StartItem } from '../store/commits.ts'
import type { Iid, WorkflowName } from '../store/instances.ts'
import type { OnHang } from '../store/lease-keeper.ts'
import type { TaskKey } from '../store/tasks.ts'

/** The code that is being called. */
export interface ActivityCallSpec {
  readonly iid: Iid
  /** The activity, or step; `undefined` while the workflow code itself runs. */
  readonly activity: CalledActivity | undefined
  /** Set for an instance in its first turn, which the store does not have yet. */
  readonly first?: FirstTurn | undefined
}

/** An instance in its first turn. */
export interface FirstTurn {
  readonly id: string
  readonly workflow: WorkflowName
  /** The row that records it; `undefined` if it is not to be recorded, or is too long. */
  readonly start: StartItem | undefined
}

/** What blocked an event loop, as far as the thread could find out. */
export interface Block {
  readonly instanceId?: string
  readonly workflow?: string
  readonly activity?: string
  /** Whether the thread ended the lease, so that other runtimes take over. */
  readonly isReleased: boolean
}

/** An attempt of an activity, whether it is a task or could become one. */
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
// Longer names are shortened in reports.
const NAME_BYTES = 200
// Enough for the longest id, name and version.
const FIRST_BYTES = 4_096
const BLOCK_BYTES = 8_192
const FIXED_BYTES = NUMBERS_BYTES + NAME_BYTES + FIRST_BYTES + BLOCK_BYTES
// The thread does not record a longer start.
const START_BYTES = 1 << 18

/**
 * A blocked event loop is logged after this fraction of the time after which it is given up. That is
 * longer than what is counted when the whole process was stopped (see `lease-watch.ts`).
 */
export const WARNING_PART = 1 / 4

/** Memory for a heartbeat, with space for a start if the thread is to record it. */
export function heartbeatMemory(onHang: OnHang): SharedArrayBuffer {
  return new SharedArrayBuffer(FIXED_BYTES + (onHang === 'kill' ? START_BYTES : 0))
}

/** What an event loop and the thread that watches it share. */
export class SharedLoopHeartbeat {
  readonly memory: SharedArrayBuffer
  // Plain numbers rather than atomic ones, which would cost too much on every turn. A torn or stale
  // read is harmless: the thread acts only on numbers that have stopped changing.
  readonly #numbers: Float64Array
  readonly #name: Buffer
  readonly #first: Buffer
  readonly #block: Buffer
  readonly #start: Buffer
  // What `#name` contains: the same activity is often called many times in a row.
  #written = { activity: '', length: 0 }

  constructor(memory = heartbeatMemory('ignore')) {
    this.memory = memory
    this.#numbers = new Float64Array(memory, 0, NUMBERS_BYTES / Float64Array.BYTES_PER_ELEMENT)
    this.#name = Buffer.from(memory, NUMBERS_BYTES, NAME_BYTES)
    this.#first = Buffer.from(memory, NUMBERS_BYTES + NAME_BYTES, FIRST_BYTES)
    this.#block = Buffer.from(memory, FIXED_BYTES - BLOCK_BYTES, BLOCK_BYTES)
    this.#start = Buffer.from(memory, FIXED_BYTES)
  }

  /** The loop runs. A process under a debugger may stop for any length of time. */
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

  /** The number under which the runtime is registered; 0 before it is. */
  get runtime(): number {
    return this.#numbers[RUNTIME]!
  }

  set runtime(runtime: number) {
    this.#numbers[RUNTIME] = runtime
  }

  /** The lease was renewed by a call that began at `ms`, as `sharedMs` counts. */
  renewed(by: 'loop' | 'thread', ms: number): void {
    this.#numbers[by === 'loop' ? RENEWED_BY_LOOP : RENEWED_BY_THREAD] = ms
  }

  /** When that side last renewed it; 0 for never. */
  renewedMs(by: 'loop' | 'thread'): number {
    return this.#numbers[by === 'loop' ? RENEWED_BY_LOOP : RENEWED_BY_THREAD]!
  }

  /** A turn of this instance begins. */
  beginTurn(iid: Iid): void {
    this.#numbers[CALLED_IID] = iid
  }

  /** The first turn of an instance begins. */
  beginFirstTurn(
    { iid, id, definition }: StartingInstance,
    /** Called only if the start is to be recorded. */
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

  /** The turn has ended. */
  endTurn(): void {
    this.#numbers[CALLED_IID] = 0
    this.#numbers[FIRST_LENGTH] = 0
  }

  /** Calls the code of an activity, and records which until it returns a value or a promise. */
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

  /** The code that is being called, if any. */
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

  /** Called by the thread: what has blocked the loop since the beat with this number. */
  blocked(beats: number, block: Block): void {
    this.#numbers[BLOCK_LENGTH] = this.#block.write(JSON.stringify(block))
    this.#numbers[BLOCK_BEATS] = beats
  }

  /** What blocked the loop after the beat with this number, if the thread found out. */
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

/** What is recorded of an instance in its first turn. */
interface StartingInstance {
  readonly iid: Iid
  readonly id: string
  readonly definition: WorkflowName
}

// Strings in a store never contain it (P6).
const SEPARATOR = '\u0000'

/** A monotonic clock in milliseconds, the same in all threads of a process. */
export function sharedMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e3 + nanoseconds / 1e6
}
