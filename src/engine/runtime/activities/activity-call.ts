import type { TraceOrigin } from '../../core/engine-tracer.ts'
import type { Span } from '../../../base/tracing.ts'
import type { Timer } from '../../../base/time/clock.ts'
import { CancelledError, TimeoutError } from '../../../base/errors.ts'
import { LazySignal } from '../../../base/sync/lazy-signal.ts'
import { childLog, type Logger } from '../../../base/log.ts'
import type { TaskKey } from '../../../store/tasks.ts'
import type { Client } from '../../define/client.ts'
import type { ActivityContext } from '../../define/activity-context.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import type { Attempt } from '../../instance/open-calls.ts'
import type { InstanceKeys } from '../../core/log-keys.ts'
import type { ResolvedRetry } from '../../define/retry.ts'
import type { Transact } from '../../../store/transactions.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { Slots } from './slots.ts'

/** What all calls of a runtime share. */
export interface CallServices {
  readonly core: RuntimeCore
  readonly beats: Pick<Heartbeats, 'beat'>
  readonly client: Client
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
  /** When it times out, by the store's clock. */
  readonly deadline: number
}

/** What is called, for messages. */
export function nameOfCall({ name, step }: ActivityCallSpec): string {
  return step === undefined ? `activity "${name}"` : `step "${name}"`
}

/** One attempt, and the context of its code. What code seldom uses is created on first use. */
export abstract class ActivityCall implements Attempt, ActivityContext {
  readonly kind = 'activity'
  readonly called: ActivityCallSpec
  readonly attempt: number
  /** Whether its code was called. */
  begun = false
  /** The open transaction, while it runs in one. */
  tx: unknown
  /** Where it occupies a slot, while it has one. */
  slots: Slots | undefined
  /** What its code threw, if it did. */
  thrown: unknown
  /** Its code, if that still runs after its timeout: it keeps its slot for a while. */
  left: Promise<unknown> | undefined
  /** Its span, if it is traced. */
  span: Span | undefined
  /** Called when it leaves its slot. */
  onOver: (() => void) | undefined
  protected readonly services: CallServices
  readonly #abort = new LazySignal()
  #silence: Timer | undefined
  #onSilence: ((error: TimeoutError) => void) | undefined

  constructor(services: CallServices, called: ActivityCallSpec, attempt: number) {
    this.services = services
    this.called = called
    this.attempt = attempt
  }

  /** Whether its result is still wanted. */
  abstract get wanted(): boolean
  abstract get instanceId(): string
  abstract get workflow(): string
  abstract get idempotencyKey(): string
  abstract get key(): TaskKey
  /** The token of its task, or of the task that it may become. */
  abstract get token(): number | null
  abstract get lastHeartbeat(): unknown
  /** What its trace depends on; `undefined` if it is not known. */
  abstract get origin(): TraceOrigin | undefined

  /** What the store judges a transaction of it by. */
  get fence(): Transact['by'] {
    return { attempt: this.attempt, token: this.token }
  }

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

  /** Whether it was aborted, and not by one of its own time limits. */
  get isStopped(): boolean {
    const { reason } = this.#abort
    return reason !== undefined && !(reason instanceof TimeoutError)
  }

  get log(): Logger {
    return childLog(this.services.core.log, this.keys)
  }

  /** What every log line about it begins with. */
  get keys(): InstanceKeys & { readonly activity: string; readonly attempt: number } {
    const { instanceId, workflow, ...more } = this.info
    return { instanceId, workflow, execution: this.key.execution, ...more, attempt: this.attempt }
  }

  get client(): Client {
    return this.services.client
  }

  /** Works without its context: `const { heartbeat } = ctx`. */
  get heartbeat(): (details?: unknown) => void {
    return (details) => this.#heartbeat(details)
  }

  #heartbeat(details: unknown): void {
    const { core, beats } = this.services
    const what = `${nameOfCall(this.called)}: ctx.heartbeat`
    const text =
      details === undefined
        ? undefined
        : core.values.encode(details, what, 'progressBytes', () => this.keys)
    if (!this.wanted) return
    this.#watchSilence()
    beats.beat(this, text)
  }

  abort(reason: string): void {
    this.#end(new CancelledError(reason))
    this.slots?.aborted(this)
  }

  /** It exceeded a time limit; it counts as failed. */
  timedOut(error: TimeoutError): void {
    this.#end(error)
    this.slots?.aborted(this)
  }

  /** From now on a missing heartbeat is an error, if it has a heartbeat timeout. */
  watchSilence(onSilence: (error: TimeoutError) => void): void {
    this.#onSilence = onSilence
    this.#watchSilence()
  }

  /** It has ended: stops to watch its heartbeats. */
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
    this.#silence = this.services.core.clock.after(limitMs, () => {
      onSilence(new TimeoutError(`${name} sent no heartbeat for ${limitMs} ms`, limitMs))
    })
  }

  #end(reason: Error): void {
    this.over()
    this.#abort.abort(reason)
  }
}
