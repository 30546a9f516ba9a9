import type { Clock, Timer } from '../../base/clock.ts'
import { errorToData } from '../../base/error-data.ts'
import { CancelledError, isFailure, TimeoutError } from '../../base/errors.ts'
import { LazySignal } from '../../base/lazy-signal.ts'
import { childLog, type Logger } from '../../base/log.ts'
import type { ActivityContext } from '../context/activity-context.ts'
import type { ActivityDefinition, ResolvedActivityOptions } from '../definitions.ts'
import { ActivityError } from '../errors.ts'
import { retryDelayMs } from '../retry.ts'
import { parse } from '../schema.ts'
import type { Values } from '../values.ts'
import type { Copy } from './copy.ts'

/** What is needed to carry out an `activity` or `step` command. */
export interface ActivityWork {
  readonly name: string
  readonly options: ResolvedActivityOptions
  /** Encoded: read when the code is called, so that repeating the past reads nothing. */
  readonly input: string | undefined
  /** `undefined` while nobody here has registered its code. */
  readonly definition: ActivityDefinition | undefined
  /** The code of a step, written in place. */
  readonly step: ((ctx: ActivityContext) => unknown) | undefined
}

/** One attempt that runs, or waits for a slot. */
export interface Attempt {
  /** Aborts its signal: its result is not wanted any more. */
  abort(reason: string): void
}

/** What the runner needs of its runtime. */
export interface ActivityHost {
  readonly clock: Clock
  readonly log: Logger
  readonly values: Values
  readonly random: () => number
  /** Resolves when it is certain that this runtime may start something. */
  mayStart(): Promise<void> | undefined
  completed(copy: Copy, command: number, value: string): void
  failed(copy: Copy, command: number, error: string): void
  /** It will be tried again, after so long. */
  retry(copy: Copy, command: number, attempt: number, delayMs: number, error: string): void
}

/** Runs activities and steps of owned instances, a limited number at once. */
export class Activities {
  readonly #host: ActivityHost
  readonly #most: number
  readonly #queue: ActivityCall[] = []
  #running = 0

  constructor(host: ActivityHost, most: number) {
    this.#host = host
    this.#most = most
  }

  /** Running now. */
  get running(): number {
    return this.#running
  }

  /** Starts an attempt, at once or when a slot is free. */
  start(copy: Copy, command: number, work: ActivityWork, attempt: number): void {
    const call = new ActivityCall(copy, command, work, attempt, this.#host.log)
    copy.running.set(command, call)
    if (this.#running < this.#most) void this.#attempt(call)
    else this.#queue.push(call)
  }

  /** Gives back what waits for a slot; what runs goes on. */
  clearQueue(): void {
    for (const call of this.#queue.splice(0)) {
      if (call.wanted) call.copy.running.delete(call.command)
    }
  }

  async #attempt(call: ActivityCall): Promise<void> {
    const { copy, command, work } = call
    this.#running++
    try {
      const wait = this.#host.mayStart()
      if (wait !== undefined) await wait
      if (!call.wanted) return
      const value = await this.#run(call)
      if (!call.wanted) return
      const text = this.#encode(value, work)
      copy.running.delete(command)
      this.#host.completed(copy, command, text)
    } catch (error) {
      if (call.wanted) this.#fail(call, error)
    } finally {
      this.#running--
      this.#startNext()
    }
  }

  #startNext(): void {
    // A loop, not a recursion: thousands may have become unwanted at once.
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (next.wanted) return void this.#attempt(next)
    }
  }

  #encode(value: unknown, { name }: ActivityWork): string {
    try {
      return this.#host.values.encode(value, `activity "${name}": its result`)
    } catch (error) {
      throw new FinalError(error)
    }
  }

  #run(call: ActivityCall): unknown {
    const { work } = call
    const { timeoutMs } = work.options
    if (timeoutMs === undefined) return invoke(work, call, this.#host.values)
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = this.#host.clock.after(timeoutMs, () => {
        const error = new TimeoutError(
          `activity "${work.name}" took longer than ${timeoutMs} ms`,
          timeoutMs,
        )
        call.timedOut(error)
        reject(error)
      })
    })
    const running = (async () => invoke(work, call, this.#host.values))()
    return Promise.race([running, late]).finally(() => timer?.cancel())
  }

  #fail({ copy, command, work, attempt }: ActivityCall, thrown: unknown): void {
    const { options, name } = work
    copy.running.delete(command)
    const final = thrown instanceof FinalError
    const error = final ? thrown.cause : thrown
    const delayMs = final
      ? undefined
      : retryDelayMs(options.retry, attempt, error, this.#host.random)
    if (delayMs === undefined) {
      this.#host.failed(
        copy,
        command,
        this.#host.values.encodeError(finalError(name, attempt, error)),
      )
      return
    }
    this.#host.log.debug({ activity: name, id: copy.id, attempt, delayMs, err: error }, 'retrying')
    this.#host.retry(copy, command, attempt, delayMs, this.#host.values.encodeError(error))
  }
}

function invoke(work: ActivityWork, ctx: ActivityContext, values: Values): unknown {
  const { definition, step, name } = work
  if (step !== undefined) return step(ctx)
  const { input: schema, run } = definition!
  const input = values.value(work.input!)
  if (schema === undefined) return run!(input as never, ctx)
  const what = `activity "${name}": its input`
  const parsing = parse(schema, input, what).catch((error: unknown) => {
    throw new FinalError(error)
  })
  return parsing.then((parsed) => run!(parsed as never, ctx))
}

/** Trying again would bring the same: an input that is not valid, a result that cannot be stored. */
class FinalError extends Error {
  constructor(cause: unknown) {
    super('it would fail again', { cause })
  }
}

/** A failure crosses as itself; anything else is wrapped, with what was thrown as its cause. */
function finalError(activity: string, attempts: number, error: unknown): unknown {
  if (isFailure(error)) return error
  const { name, message } = errorToData(error)
  return new ActivityError(
    `activity "${activity}" failed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${message}`,
    { activity, attempts, originalName: name },
    { cause: error },
  )
}

/** One attempt, and the context that its code is given. What is seldom asked for is made then. */
class ActivityCall implements ActivityContext, Attempt {
  readonly copy: Copy
  readonly command: number
  readonly work: ActivityWork
  readonly attempt: number
  readonly #log: Logger
  readonly #abort = new LazySignal()

  constructor(copy: Copy, command: number, work: ActivityWork, attempt: number, log: Logger) {
    this.copy = copy
    this.command = command
    this.work = work
    this.attempt = attempt
    this.#log = log
  }

  /** Whether somebody still waits for what this attempt brings. */
  get wanted(): boolean {
    return this.copy.running.get(this.command) === this
  }

  get info(): ActivityContext['info'] {
    const { id, definition } = this.copy
    return { instanceId: id, workflow: definition.name, activity: this.work.name }
  }

  get idempotencyKey(): string {
    // The time is there because another database may give out the same numbers.
    const { iid, generation, startedAt } = this.copy
    return `${iid}-${generation}-${this.command}-${startedAt.toString(36)}`
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get log(): Logger {
    return childLog(this.#log, { ...this.info, attempt: this.attempt })
  }

  abort(reason: string): void {
    this.#abort.abort(new CancelledError(reason))
  }

  timedOut(error: TimeoutError): void {
    this.#abort.abort(error)
  }
}
