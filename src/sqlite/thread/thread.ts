import { Worker } from 'node:worker_threads'
import type { LeaseKeeper, LeaseOrder } from '../../store/lease-keeper.ts'
import { StoreError } from '../../store/store-error.ts'
import { HintHub } from './hints.ts'
import { claimLibrary } from '../connect/library-of-file.ts'
import type { ArgsOf, OperationName, ResultOf } from './table.ts'
import type { SqliteSettings } from '../connect/options.ts'
import type { StoreThread } from './store-thread.ts'
import { threadEntry } from './thread-entry.ts'
import { type Request, type Response, storeErrorFromData } from './thread-protocol.ts'
import { warnOnce } from '../connect/wal-reset-bug.ts'

// An fsync takes as long as thousands of turns: it must not block the event loop, so a file is used
// from a thread of its own.
//
//   - Requests are done in the order of the calls, one at a time.
//   - If a thread ends unexpectedly, its open requests fail with `connection_lost`: they may or may
//     not have been done. The next call starts another thread.
//   - A database in memory is lost with its thread, so every later call fails.
//   - The thread keeps the process alive only while a call waits for an answer.
//   - A new thread continues to renew the leases and to watch for commits of others.
//   - One answer is handed out in each round of the event loop. A port delivers everything that has
//     arrived, and what arrives meanwhile: while answers and calls follow each other, no timer
//     would run.

interface Pending {
  readonly operation: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: StoreError) => void
}

/** The thread that has one file open. Starts with the first call. */
export class SqliteThread implements StoreThread {
  readonly #settings: SqliteSettings
  readonly #startWorker: typeof startWorker
  readonly #pending = new Map<number, Pending>()
  readonly #leases = new Map<number, LeaseOrder>()
  /** The listeners of this file in this process. */
  readonly hub = new HintHub(this)
  /** The runtimes of this process, while a listener wants hints of other processes' commits. */
  #watchedFor: readonly number[] | undefined
  #worker: Worker | undefined
  #lastNumber = 0
  #ended: string | undefined
  /** Answers for the next rounds; `undefined` when one may be given out in this round. */
  #later: Response[] | undefined

  /** `start` creates the worker: only tests, which end it on purpose, pass their own. */
  constructor(settings: SqliteSettings, start = startWorker) {
    this.#settings = settings
    this.#startWorker = start
  }

  /** How the file is opened. */
  get settings(): SqliteSettings {
    return this.#settings
  }

  /** Opens the file, if it is not open. */
  async open(): Promise<void> {
    await this.#send('open', [], 0)
  }

  /** Runs an operation, with a clock that is ahead of the machine's by this much. */
  async call<Name extends OperationName>(
    operation: Name,
    args: ArgsOf<Name>,
    clockOffsetMs = 0,
  ): Promise<ResultOf<Name>> {
    return (await this.#send(operation, args, clockOffsetMs)) as ResultOf<Name>
  }

  /** Makes the thread renew the lease of a runtime. */
  keepLease(order: LeaseOrder): LeaseKeeper {
    const key = ++this.#lastNumber
    this.#leases.set(key, order)
    if (this.#worker !== undefined) post(this.#worker, 'keepLease', [key, order])
    return {
      stop: async () => {
        this.#leases.delete(key)
        if (this.#worker !== undefined) post(this.#worker, 'dropLease', [key])
      },
    }
  }

  watchChanges(own: readonly number[]): void {
    // No other process sees a database in memory.
    if (this.#settings.path === ':memory:') return
    this.#watchedFor = own
    if (this.#worker !== undefined) post(this.#worker, 'watch', [own])
  }

  unwatchChanges(): void {
    this.#watchedFor = undefined
    if (this.#worker !== undefined) post(this.#worker, 'unwatch', [])
  }

  /** Closes the file once everything asked for is done. Later calls fail with `closed`. */
  async close(): Promise<void> {
    if (this.#ended !== undefined) return
    const closing = this.#worker === undefined ? undefined : this.#send('close', [], 0)
    this.#ended = 'the store was closed'
    // A thread that has ended has the file no longer open, which is all that was asked for.
    await closing?.catch((error: StoreError) => {
      if (error.code !== 'connection_lost') throw error
    })
  }

  #send(
    operation: Request['operation'],
    args: readonly unknown[],
    clockOffsetMs: number,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        return reject(new StoreError('closed', `sqlite ${operation}`, this.#ended))
      }
      this.#worker ??= this.#start()
      const number = ++this.#lastNumber
      const request: Request = { number, operation, args, clockOffsetMs }
      try {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
        this.#worker.postMessage(request)
      } catch (cause) {
        const message = 'an argument cannot be sent to the thread'
        return reject(new StoreError('rejected', `sqlite ${operation}`, message, { cause }))
      }
      if (this.#pending.size === 0) this.#worker.ref()
      this.#pending.set(number, { operation, resolve, reject })
    })
  }

  #start(): Worker {
    claimLibrary(this.#settings)
    const worker = this.#startWorker(this.#settings)
    let failure: unknown
    worker.on('message', (response: Response) => this.#receive(worker, response))
    worker.on('error', (error) => {
      failure = error
    })
    worker.on('exit', () => this.#onExit(worker, failure))
    worker.unref()
    for (const lease of this.#leases) post(worker, 'keepLease', lease)
    if (this.#watchedFor !== undefined) post(worker, 'watch', [this.#watchedFor])
    return worker
  }

  #receive(worker: Worker, response: Response): void {
    if (this.#later !== undefined) return void this.#later.push(response)
    this.#later = []
    setImmediate(() => this.#nextRound(worker))
    this.#take(worker, response)
  }

  #nextRound(worker: Worker): void {
    const response = this.#later?.shift()
    if (response === undefined) {
      this.#later = undefined
      return
    }
    setImmediate(() => this.#nextRound(worker))
    this.#take(worker, response)
  }

  #take(worker: Worker, response: Response): void {
    if ('changed' in response) return this.hub.changed()
    if ('warning' in response) return warnOnce(response.warning)
    const pending = this.#pending.get(response.number)
    this.#pending.delete(response.number)
    if (this.#pending.size === 0) worker.unref()
    if ('error' in response) pending?.reject(storeErrorFromData(response.error))
    else pending?.resolve(response.result)
  }

  #onExit(worker: Worker, cause: unknown): void {
    if (this.#worker === worker) this.#worker = undefined
    for (const response of this.#later?.splice(0) ?? []) this.#take(worker, response)
    if (this.#settings.path === ':memory:') {
      this.#ended ??= 'the thread that held the database in memory has ended'
    }
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { operation, reject } of pending) {
      const why = cause instanceof Error ? `: ${cause.message}` : ''
      const message = `the thread that has ${this.#settings.path} open has ended${why}`
      reject(new StoreError('connection_lost', `sqlite ${operation}`, message, { cause }))
    }
  }
}

/** Sends a request that no call waits for. */
function post(worker: Worker, operation: Request['operation'], args: readonly unknown[]): void {
  const request: Request = { number: 0, operation, args, clockOffsetMs: 0 }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  worker.postMessage(request)
}

/** Starts a thread that does what `thread-main.ts` says. */
export function startWorker(settings: SqliteSettings): Worker {
  return new Worker(...threadEntry(settings))
}
