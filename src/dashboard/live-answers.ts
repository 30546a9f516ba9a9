// Live views. A view is the address of a read; its answer is read again and again while someone watches,
// once for all who watch the same address, and handed out when it has changed. Nothing is read while
// no one watches.
//
//   - Reading takes at most a tenth of the time: what takes a second to read is read every ten.
//   - A few are read at a time, however many are watched.
//   - After an error it waits longer each time, and reports the error to the watchers.

import { semaphore } from '../base/sync/semaphore.ts'
import type { Clock, Timer } from '../base/time/clock.ts'
import type { LiveChange } from './api.ts'
import { Failure, failureOf } from './failure.ts'
import type { ReadRoute } from './route.ts'

/** Called with each change: a `LiveChange` as JSON, written once for all. */
export type Watcher = (change: string) => void

/** Where answers come from. */
export interface LiveSource {
  readonly clock: Clock
  /** The route of an address. */
  readonly route: (name: string) => ReadRoute
  readonly read: (name: string, query: URLSearchParams) => Promise<unknown>
  /** An answer could not be read. */
  readonly failed: (failure: Failure) => void
}

const AT_ONCE = 3
const MAX_VIEWS = 500
const PAUSE_PER_READ = 9
const MAX_ERROR_PAUSE_MS = 30_000

/** Reads addresses while they are watched. */
export class LiveAnswers {
  readonly #source: LiveSource
  readonly #reads = semaphore(AT_ONCE)
  readonly #views = new Map<string, View>()

  constructor(source: LiveSource) {
    this.#source = source
  }

  /** How many addresses are being read. */
  get size(): number {
    return this.#views.size
  }

  /** Calls back now, as soon as there is an answer, and at each change. Call the result to stop. */
  watch(path: string, watcher: Watcher): () => void {
    const view = this.#views.get(path) ?? this.#begin(path)
    return view.add(watcher)
  }

  #begin(path: string): View {
    const { name, query, everyMs } = this.#parse(path)
    if (this.#views.size >= MAX_VIEWS) {
      throw new Failure('too_many_streams', `${MAX_VIEWS} addresses are watched: try again later`)
    }
    const view: View = new View(path, {
      clock: this.#source.clock,
      everyMs,
      read: async () => {
        using _ = await this.#reads.acquire()
        return view.isWatched ? await this.#source.read(name, query) : undefined
      },
      failed: this.#source.failed,
      unwatched: () => this.#views.delete(path),
    })
    this.#views.set(path, view)
    return view
  }

  #parse(path: string): { name: string; query: URLSearchParams; everyMs: number } {
    const [name = ''] = path.split('?', 1)
    const { everyMs } = this.#source.route(name)
    if (everyMs === undefined) {
      throw new Failure('bad_request', `${name} cannot be watched: read it when you need it`)
    }
    return { name, query: new URLSearchParams(path.slice(name.length)), everyMs }
  }
}

interface ViewSetup {
  readonly clock: Clock
  readonly everyMs: number
  readonly read: () => Promise<unknown>
  readonly failed: (failure: Failure) => void
  readonly unwatched: () => void
}

class View {
  readonly #path: string
  readonly #setup: ViewSetup
  readonly #watchers = new Set<Watcher>()
  /** The latest change; empty before the first. */
  #latest = ''
  #failures = 0
  #timer: Timer | undefined

  constructor(path: string, setup: ViewSetup) {
    this.#path = path
    this.#setup = setup
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0
  }

  add(watcher: Watcher): () => void {
    // A function of its own: the same one may be given twice.
    const own: Watcher = (change) => watcher(change)
    this.#watchers.add(own)
    if (this.#watchers.size === 1) void this.#look()
    else if (this.#latest !== '') own(this.#latest)
    return () => {
      if (!this.#watchers.delete(own) || this.#watchers.size > 0) return
      this.#timer?.cancel()
      this.#setup.unwatched()
    }
  }

  async #look(): Promise<void> {
    const { clock, everyMs, read, failed } = this.#setup
    const began = clock.now()
    let change: LiveChange
    try {
      change = { path: this.#path, body: await read() }
      this.#failures = 0
    } catch (error) {
      // As when the client was closed meanwhile.
      if (!this.isWatched) return
      const failure = failureOf(error)
      if (this.#failures++ === 0) failed(failure)
      change = { path: this.#path, error: { code: failure.code, message: failure.message } }
    }
    if (!this.isWatched) return
    this.#tell(change)
    const tookMs = clock.now() - began
    const errorMs = this.#failures === 0 ? 0 : everyMs * 2 ** Math.min(this.#failures, 10)
    const pauseMs = Math.max(
      everyMs,
      tookMs * PAUSE_PER_READ,
      Math.min(errorMs, MAX_ERROR_PAUSE_MS),
    )
    this.#timer = clock.after(pauseMs, () => void this.#look(), 'interval')
  }

  #tell(change: LiveChange): void {
    const text = JSON.stringify(change)
    if (text === this.#latest) return
    this.#latest = text
    for (const watcher of this.#watchers) watcher(text)
  }
}
