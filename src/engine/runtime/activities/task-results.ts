import { BatchSplitter } from '../../../base/sync/batch-splitter.ts'
import { countWithin } from '../../../base/sync/count-within.ts'
import { notify } from '../../../base/sync/notify.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { TaskKey, TaskResult, TaskVerdict } from '../../../store/tasks.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { InstanceKeys } from '../../core/log-keys.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

const MAX_AT_ONCE = 500
const BOUNDS = [{ max: 1 << 20, of: ({ result }: Waiting) => sizeOf(result) }]

/** Receives the store's answers to results. */
export interface ResultWatcher {
  /** The store has answered. */
  finished(result: TaskResult, verdict: TaskVerdict): void
  /** The store can never store it. */
  unstorable(runtime: number, result: TaskResult, task: LoggedTask, error: StoreError): void
}

/** A task, for log lines about it. */
export interface LoggedTask {
  readonly keys: InstanceKeys & { readonly activity: string; readonly attempt: number }
}

/** A result, and the number of the runtime that owned its task. */
interface Waiting {
  readonly runtime: number
  readonly result: TaskResult
  readonly task: LoggedTask
}

/** Sends the results of tasks to the store, all that are ready in one call. */
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

  /** How many results the store has not answered yet. */
  get underway(): number {
    return this.#waiting.length
  }

  /** Tasks that this runtime still owns as far as the store knows. */
  keys(): readonly TaskKey[] {
    return this.#waiting.map(({ result }) => result)
  }

  /** Sends a result of an attempt that this runtime made. */
  add(runtime: number, result: TaskResult, task: LoggedTask): void {
    this.#waiting.push({ runtime, result, task })
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
    const runtime = batch[0]?.runtime
    if (runtime === undefined) return idle()
    // A result that cannot be stored must not block the others.
    const parts = new BatchSplitter(batch)
    for (const part of parts) {
      const results = part.map(({ result }) => result)
      let verdicts: readonly TaskVerdict[]
      try {
        verdicts = await this.#core.store.finishTasks(runtime, results)
      } catch (error) {
        if (!(error instanceof StoreError) || error.retryable) throw error
        if (parts.split(part)) continue
        this.#waiting.shift()
        this.#watcher.unstorable(runtime, results[0]!, part[0]!.task, error)
        continue
      }
      this.#waiting.splice(0, part.length)
      for (const [i, result] of results.entries()) this.#watcher.finished(result, verdicts[i]!)
    }
    return proceed()
  }

  /** The first results that can be sent together. */
  #next(): readonly Waiting[] {
    // Results of a number that has been declared dead are sent under that number.
    const runtime = this.#waiting[0]?.runtime
    const end = this.#waiting.findIndex((one) => one.runtime !== runtime)
    const most = end < 0 ? MAX_AT_ONCE : Math.min(end, MAX_AT_ONCE)
    return this.#waiting.slice(0, countWithin(this.#waiting, most, BOUNDS))
  }
}

function sizeOf({ end }: TaskResult): number {
  return 100 + ('payload' in end ? end.payload.length : 0)
}
