// Streams of server-sent events. A reader that is slow gets the latest change of each address and not all of
// them, so that a stream holds no more than one answer per address; one that does not read is ended.

import type { Clock, Timer } from '../base/time/clock.ts'
import { answer } from './answer.ts'
import { Failure } from './failure.ts'
import type { LiveAnswers } from './live-answers.ts'

const MAX_PATHS = 8
/** A comment keeps what is between from closing a silent connection. */
const KEEP_ALIVE_MS = 15_000
/** How long a reader may leave what was written to it. */
const UNREAD_MS = 60_000
const MAX_AGE_MS = 3_600_000

const ENCODER = new TextEncoder()

/** The open streams of a dashboard. */
export class EventStreams {
  readonly #live: LiveAnswers
  readonly #clock: Clock
  readonly #max: number
  readonly #open = new Set<EventStream>()

  constructor(live: LiveAnswers, clock: Clock, max: number) {
    this.#live = live
    this.#clock = clock
    this.#max = max
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size
  }

  /** A stream of the changes of these addresses. It ends when the signal aborts. */
  open(paths: readonly string[], signal: AbortSignal): Response {
    if (paths.length === 0 || paths.length > MAX_PATHS) {
      throw new Failure('bad_request', `live: give 1 to ${MAX_PATHS} paths, got ${paths.length}`)
    }
    if (this.#open.size >= this.#max) {
      throw new Failure(
        'too_many_streams',
        `${this.#max} live views are open: close some, or try again later`,
      )
    }
    const stream = new EventStream(this.#clock, () => this.#open.delete(stream))
    this.#open.add(stream)
    try {
      for (const path of new Set(paths)) stream.follow(this.#live, path)
    } catch (error) {
      stream.end()
      throw error
    }
    if (signal.aborted) stream.end()
    else signal.addEventListener('abort', () => stream.end(), { once: true })
    return answer(200, stream.body, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Otherwise nginx would hold events back.
      'x-accel-buffering': 'no',
    })
  }

  /** Ends all of them. */
  close(): void {
    for (const stream of this.#open) stream.end()
  }
}

class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #clock: Clock
  readonly #ended: () => void
  readonly #stops: (() => void)[] = []
  /** Changes that were not written yet: the latest of each address. */
  readonly #unwritten = new Map<string, string>()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #timer: Timer | undefined
  readonly #age: Timer
  /** Whether the reader has taken what was written, and wants more. */
  #isWanted = false

  constructor(clock: Clock, ended: () => void) {
    this.#clock = clock
    this.#ended = ended
    this.#age = clock.after(MAX_AGE_MS, () => this.end(), 'interval')
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#isWanted = true
          this.#wait()
          this.#write()
        },
        cancel: () => this.end(),
      },
      { highWaterMark: 1 },
    )
    this.#wait()
  }

  follow(live: LiveAnswers, path: string): void {
    this.#stops.push(
      live.watch(path, (change) => {
        this.#unwritten.set(path, change)
        this.#write()
      }),
    )
  }

  end(): void {
    const controller = this.#controller
    if (controller === undefined) return
    this.#controller = undefined
    this.#timer?.cancel()
    this.#age.cancel()
    for (const stop of this.#stops) stop()
    this.#unwritten.clear()
    this.#ended()
    try {
      controller.close()
    } catch {
      // The reader has gone already.
    }
  }

  #write(): void {
    if (!this.#isWanted || this.#unwritten.size === 0) return
    const events = [...this.#unwritten.values()].map(
      (change) => `event: change\ndata: ${change}\n\n`,
    )
    this.#unwritten.clear()
    this.#send(events.join(''))
  }

  #send(text: string): void {
    this.#isWanted = false
    this.#controller?.enqueue(ENCODER.encode(text))
    this.#wait()
  }

  /** Writes something when the time is over; or ends, if what was written before was not read. */
  #wait(): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.after(
      KEEP_ALIVE_MS,
      () => {
        if (this.#isWanted) return this.#send(': still here\n\n')
        this.#timer = this.#clock.after(
          UNREAD_MS - KEEP_ALIVE_MS,
          () => (this.#isWanted ? this.#send(': still here\n\n') : this.end()),
          'interval',
        )
      },
      'interval',
    )
  }
}
