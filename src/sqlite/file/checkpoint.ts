// When to move pages from the WAL into the file. SQLite would do it inside the commit that makes
// the WAL long enough, which that caller then waits for. Here it is done between operations: in a
// pause once it is worthwhile, without waiting for one when the WAL is long.
//
// SQLite reports how much is in the WAL only as the result of a checkpoint. Between two checkpoints
// it is at least what the file has grown by. While the WAL overwrites what an earlier round left
// there, its file does not grow; then the amount is estimated from the number of writes and the
// size of a write in the last round.
//
// A commit that makes the file longer waits for the file system to record the new length as well.
// So a WAL that grows is extended ahead of what it needs. Without that (ext4, medians of 15 rounds
// in turns) 1 push in flight reaches 0.62 of the rate, 64 reach 0.61, and workflows 0.60 (1 at a
// time) to 0.72 (100 at a time).

const MB = 1024 * 1024
/** Worth a checkpoint when there is nothing else to do. */
const WORTH = 4 * MB
/** A WAL that should not get any longer. */
const LONG = 32 * MB
/** A file of the WAL that is too long to keep for later. */
const HUGE = 64 * MB
/** The size of a write, until one has been measured. */
const PER_WRITE = 80 * 1024
/** How much space a WAL gets the first time, and at most; twice as much each time. */
const LEAST_ROOM = MB / 4
const MAX_ROOM = 4 * MB
/** After this long without a call, there is a pause. */
const PAUSE_MS = 20

/** The WAL of a file. */
export interface Wal {
  /** The length of its file. Too expensive to read after each write. */
  size(): number
  /** Whether its file is longer than that. */
  isLongerThan(bytes: number): boolean
  /** Moves what it can into the file; returns how much was in the WAL. */
  checkpoint(): number
  /** Truncates the part that no connection needs any more, if that is possible now. */
  shorten(): void
  /** Makes the file longer by zeros; returns by how many. */
  lengthen(bytes: number): number
}

/** Decides when a checkpoint is made, and how long the file is. */
export class Checkpointer {
  readonly #wal: Wal
  #writes = 0
  #perWrite = PER_WRITE
  /** At the latest checkpoint, and now. */
  #sizeBefore = 0
  #size = 0
  #isMeasured = true
  #wantsRoom = false
  #room = LEAST_ROOM
  #timer: NodeJS.Timeout | undefined

  constructor(wal: Wal) {
    this.#wal = wal
  }

  /** Counts a write transaction. */
  wrote(): void {
    this.#writes++
    this.#isMeasured = false
  }

  /** Has to be called with the write lock held, before the write. */
  makeRoom(): void {
    if (!this.#wantsRoom) return
    this.#wantsRoom = false
    const made = this.#wal.lengthen(this.#room)
    this.#room = Math.min(this.#room * 2, MAX_ROOM)
    // The WAL is still empty.
    this.#size += made
    this.#sizeBefore += made
  }

  /** Call it after each operation, once its answer has left. */
  tidy(): void {
    const length = this.#length()
    if (length >= LONG) this.#run()
    else if (length >= WORTH) {
      if (this.#timer === undefined) this.#timer = setTimeout(() => this.#run(), PAUSE_MS)
      else this.#timer.refresh()
    }
  }

  /** Forgets what was planned. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  #length(): number {
    if (!this.#isMeasured && this.#wal.isLongerThan(this.#size)) {
      this.#wantsRoom = true
      this.#size = this.#wal.size()
    }
    this.#isMeasured = true
    return Math.max(this.#writes * this.#perWrite, this.#size - this.#sizeBefore)
  }

  #run(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      const length = this.#wal.checkpoint()
      if (length > 0) this.#perWrite = Math.max(1, length / this.#writes)
      if (this.#size > HUGE) this.#wal.shorten()
    } catch {
      // Nothing is lost: the WAL has everything, and the next write reports the error, if it
      // persists.
    }
    this.#writes = 0
    this.#size = this.#sizeBefore = this.#wal.size()
  }
}
