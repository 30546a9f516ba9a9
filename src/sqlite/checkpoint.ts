// When to move pages from the WAL into the file. SQLite would do it inside the commit that makes
// the WAL long enough, which that caller then waits for. Here it is done between operations: in a
// pause once the WAL is worth it, without one when it is long.
//
// SQLite says how long the WAL is only as the answer to a checkpoint, so between two of them it is
// guessed from the number of writes and from what a write took the last time.

/** A WAL worth a checkpoint when there is nothing else to do: 4 MB. */
const WORTH_PAGES = 1_000
/** A WAL that should not get any longer: 32 MB. */
const LONG_PAGES = 8_000
/** Until there is an experience. */
const PAGES_PER_WRITE = 20
/** Without a call for so long, there is a pause. */
const PAUSE_MS = 20

/** Decides when `checkpoint`, which answers how many pages the WAL had, is called. */
export class Checkpointer {
  readonly #checkpoint: () => number
  #writes = 0
  #pagesPerWrite = PAGES_PER_WRITE
  #timer: NodeJS.Timeout | undefined

  constructor(checkpoint: () => number) {
    this.#checkpoint = checkpoint
  }

  /** Counts a write transaction. */
  wrote(): void {
    this.#writes++
  }

  /** To be called after each operation, once its answer has left. */
  tidy(): void {
    const pages = this.#writes * this.#pagesPerWrite
    if (pages >= LONG_PAGES) this.#run()
    else if (pages >= WORTH_PAGES) {
      if (this.#timer === undefined) this.#timer = setTimeout(() => this.#run(), PAUSE_MS)
      else this.#timer.refresh()
    }
  }

  /** Forgets what was planned. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  #run(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    let pages: number
    try {
      pages = this.#checkpoint()
    } catch {
      // Nothing is lost: it all stands in the WAL, and the next write says what is wrong, if it is.
      pages = 0
    }
    if (pages > 0) this.#pagesPerWrite = Math.max(1, pages / this.#writes)
    this.#writes = 0
  }
}
