import type { Clock, Timer } from '../../../base/time/clock.ts'
import { CancelledError, TimeoutError } from '../../../base/errors.ts'
import { LazySignal } from '../../../base/sync/lazy-signal.ts'
import { childLog, type Logger } from '../../../base/log.ts'
import type { TaskKey } from '../../../store/tasks.ts'
import type { Client } from '../../define/client.ts'
import type { ActivityContext } from '../../define/activity-context.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import type { InstanceKeys } from '../../core/log-keys.ts'
import type { ResolvedRetry } from '../../define/retry.ts'
import type { Values } from '../../core/values.ts'
import type { Attempt } from '../../instance/open-calls.ts'
import type { Slots } from './slots.ts'

/** What the calls of a runtime share. */
export interface CallHost {
  readonly clock: Clock
  readonly log: Logger
  readonly values: Values
  client(): Client
  /** An attempt told how far it is; `details` are encoded. */
  beat(call: ActivityCall, details: string | undefined): void
}

/** What is called, and how. */
export interface ActivityCallSpec {
  readonly name: string
  /** Encoded; `undefined` for a step. */
  readonly input: string | undefined
  readonly definition: ActivityDefinition | undefined
  /** The code of a step, written in place. */
  readonly step: ((ctx: ActivityContext) => unknown) | undefined
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
  readonly heartbeatTimeoutMs: number | undefined
  readonly tag: string
  readonly session: string
  /** When it has to be over, by the store's clock. */
  readonly deadline: number
}

/** What is called, for messages. */
export function nameOfCall({ name, step }: ActivityCallSpec): string {
  return step === undefined ? `activity "${name}"` : `step "${name}"`
}

/** One attempt, and the context that its code is given. What is seldom asked for is made then. */
export abstract class ActivityCall implements Attempt, ActivityContext {
  readonly kind = 'activity'
  readonly called: ActivityCallSpec
  readonly attempt: number
  /** Whether its code was called. */
  begun = false
  /** What a transaction runs in; only while it does. */
  tx: unknown
  /** Where it occupies a slot, while it does. */
  slots: Slots | undefined
  /** What its code threw, if it did. */
  thrown: unknown
  /** Its code, while that goes on although its time was up: it keeps its slot for a while. */
  left: Promise<unknown> | undefined
  /** Called when it leaves its slot. */
  onOver: (() => void) | undefined
  protected readonly host: CallHost
  readonly #abort = new LazySignal()
  #silence: Timer | undefined
  #onSilence: ((error: TimeoutError) => void) | undefined

  constructor(host: CallHost, called: ActivityCallSpec, attempt: number) {
    this.host = host
    this.called = called
    this.attempt = attempt
  }

  /** Whether somebody still waits for what this attempt brings. */
  abstract get wanted(): boolean
  abstract get instanceId(): string
  abstract get workflow(): string
  abstract get idempotencyKey(): string
  abstract get key(): TaskKey
  /** Of its task; of a call that is none, of the one that it may become. */
  abstract get token(): number | null
  abstract get lastHeartbeat(): unknown

  get info(): ActivityContext['info'] {
    const { instanceId, workflow } = this
    const { name, tag, session } = this.called
    return {
      instanceId,
      workflow,
      activity: name,
      ...(tag !== '' && { tag }),
      ...(session !== '' && { session }),
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get log(): Logger {
    return childLog(this.host.log, this.keys)
  }

  /** What every log line about it begins with. */
  get keys(): InstanceKeys & { readonly activity: string; readonly attempt: number } {
    const { instanceId, workflow, ...more } = this.info
    return { instanceId, workflow, execution: this.key.execution, ...more, attempt: this.attempt }
  }

  get client(): Client {
    return this.host.client()
  }

  /** Taken from the context, it works all the same. */
  get heartbeat(): (details?: unknown) => void {
    return (details) => this.#heartbeat(details)
  }

  #heartbeat(details: unknown): void {
    const { values } = this.host
    const what = `${nameOfCall(this.called)}: ctx.heartbeat`
    const text = details === undefined ? undefined : values.encode(details, what)
    if (!this.wanted) return
    this.#watchSilence()
    this.host.beat(this, text)
  }

  abort(reason: string): void {
    this.#end(new CancelledError(reason))
    this.slots?.aborted(this)
  }

  /** Its time is up; it counts as failed. */
  timedOut(error: TimeoutError): void {
    this.#end(error)
    this.slots?.aborted(this)
  }

  /** From now on silence is an error, if it has a limit. */
  watchSilence(onSilence: (error: TimeoutError) => void): void {
    this.#onSilence = onSilence
    this.#watchSilence()
  }

  /** Nothing is timed any more. */
  over(): void {
    this.#silence?.cancel()
    this.#onSilence = undefined
  }

  #watchSilence(): void {
    const { heartbeatTimeoutMs: limitMs } = this.called
    const name = nameOfCall(this.called)
    const onSilence = this.#onSilence
    if (limitMs === undefined || onSilence === undefined) return
    this.#silence?.cancel()
    this.#silence = this.host.clock.after(limitMs, () => {
      onSilence(new TimeoutError(`${name} gave no heartbeat for ${limitMs} ms`, limitMs))
    })
  }

  #end(reason: Error): void {
    this.over()
    this.#abort.abort(reason)
  }
}
