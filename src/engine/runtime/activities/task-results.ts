import { countWithin } from '../../../base/sync/count-within.ts'
import { notify } from '../../../base/sync/notify.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { TaskKey, TaskResult, TaskVerdict } from '../../../store/tasks.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

const MAX_AT_ONCE = 500
const BOUNDS = [{ max: 1 << 20, of: ({ result }: Waiting) => sizeOf(result) }]

/** Learns what became of results. */
export interface ResultWatcher {
  /** The store has answered. */
  finished(result: TaskResult, verdict: TaskVerdict): void
  /** The store can never take it. */
  unstorable(runtime: number, result: TaskResult, error: StoreError): void
}

/** A result, and the number of the runtime that owned its task. */
interface Waiting {
  readonly runtime: number
  readonly result: TaskResult
}

/** Sends the results of tasks to the store: all that are there in one call. */
export class TaskResults {
  readonly #core: RuntimeCore
  readonly #watcher: ResultWatcher
  readonly #wake = notify()
  /** Each stays here until the store has answered. */
  readonly #waiting: Waiting[] = []

  constructor(core: RuntimeCore, watcher: ResultWatcher) {
    this.#core = core
    this.#watcher = watcher
  }

  /** How many the store has not answered yet. */
  get underway(): number {
    return this.#waiting.length
  }

  /** Tasks that this runtime still owns as far as the store knows. */
  keys(): readonly TaskKey[] {
    return this.#waiting.map(({ result }) => result)
  }

  /** Sends a result of an attempt that this runtime made. */
  add(runtime: number, result: TaskResult): void {
    this.#waiting.push({ runtime, result })
    this.#wake.notifyOne()
  }

  work(): Worker {
    const { clock, log } = this.#core
    const pacing = { min: 0, active: 0, step: 0 }
    const backoff = { initial: 50, max: 5_000 }
    return worker('results', { wakeOn: [this.#wake], clock, log, pacing, backoff }, () =>
      this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    const batch = this.#next()
    if (batch.length === 0) return idle()
    await this.#send(batch)
    return proceed()
  }

  /** The first ones that can go together. */
  #next(): readonly Waiting[] {
    // Results of a number that was declared dead since are sent under that number.
    const runtime = this.#waiting[0]?.runtime
    const end = this.#waiting.findIndex((one) => one.runtime !== runtime)
    const most = end < 0 ? MAX_AT_ONCE : Math.min(end, MAX_AT_ONCE)
    return this.#waiting.slice(0, countWithin(this.#waiting, most, BOUNDS))
  }

  /** Sends the first ones in line. One that cannot be stored must not block the others. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const [{ runtime, result }] = batch as readonly [Waiting, ...Waiting[]]
    const results = batch.map((one) => one.result)
    let verdicts: readonly TaskVerdict[]
    try {
      verdicts = await this.#core.store.finishTasks(runtime, results)
    } catch (error) {
      if (!(error instanceof StoreError) || error.retryable) throw error
      if (batch.length > 1) {
        const middle = batch.length >> 1
        await this.#send(batch.slice(0, middle))
        return this.#send(batch.slice(middle))
      }
      this.#waiting.shift()
      return this.#watcher.unstorable(runtime, result, error)
    }
    this.#waiting.splice(0, batch.length)
    for (const [i, one] of results.entries()) this.#watcher.finished(one, verdicts[i]!)
  }
}

function sizeOf({ end }: TaskResult): number {
  return 100 + ('payload' in end ? end.payload.length : 0)
}
