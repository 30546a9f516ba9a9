import { errorToData } from '../../../base/codec/error-data.ts'
import { CancelledError, isFailure, TimeoutError } from '../../../base/errors.ts'
import { resolveBackoff } from '../../../base/time/backoff.ts'
import type { Timer } from '../../../base/time/clock.ts'
import { retry } from '../../../base/time/retry.ts'
import type { SharedLoopHeartbeat } from '../../../watchdog/shared-loop-heartbeat.ts'
import { isRetryableStoreError } from '../../../store/store-error.ts'
import type { Transact } from '../../../store/transactions.ts'
import { ActivityError } from '../../core/errors.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import type { Client } from '../../define/client.ts'
import { retryDelayMs } from '../../define/retry.ts'
import { parse } from '../../../base/schema.ts'
import { checkTransaction } from '../../define/transactions.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'
import { callStep } from '../../replay/current-turn.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { Registration } from '../discover/registration.ts'
import {
  type ActivityCall,
  type ActivityCallSpec,
  type CallServices,
  nameOfCall,
} from './activity-call.ts'
import type { Heartbeats } from './heartbeats.ts'
import { observeAttempt } from './observe-attempt.ts'

const RETRY = resolveBackoff('transactions', { initial: 50, max: 2_000 })

/** Runs attempts: calls the code of activities and steps, each within its limits. */
export class AttemptRunner implements CallServices {
  readonly core: RuntimeCore
  readonly beats: Heartbeats
  readonly #registration: Registration
  readonly #loop: SharedLoopHeartbeat
  #client: Client | undefined

  constructor(
    core: RuntimeCore,
    registration: Registration,
    loop: SharedLoopHeartbeat,
    beats: Heartbeats,
  ) {
    this.core = core
    this.beats = beats
    this.#registration = registration
    this.#loop = loop
  }

  /** What activities reach as `ctx.client`. */
  serve(client: Client): void {
    this.#client = client
  }

  get client(): Client {
    return this.#client!
  }

  /** Makes an attempt. Never throws or rejects. Code that returns no promise ends at once. */
  run(call: ActivityCall): AttemptEnd | Promise<AttemptEnd> {
    const { meter, tracer } = this.core
    return meter === undefined && tracer === undefined
      ? this.#run(call)
      : observeAttempt(this.core, call, () => this.#run(call))
  }

  #run(call: ActivityCall): AttemptEnd | Promise<AttemptEnd> {
    const { clock } = this.core
    call.begun = true
    return clock.running === undefined
      ? this.#attempt(call)
      : clock.running(() => this.#attempt(call))
  }

  #attempt(call: ActivityCall): AttemptEnd | Promise<AttemptEnd> {
    const { timeoutMs, heartbeatTimeoutMs } = call.called
    try {
      const isLimited = timeoutMs !== undefined || heartbeatTimeoutMs !== undefined
      const value = isLimited ? this.#callWithin(call, timeoutMs) : this.#call(call)
      if (!isPromise(value)) return this.#completed(call, value)
      return Promise.resolve(value).then(
        (result) => this.#completed(call, result),
        (error: unknown) => this.#failed(call, error),
      )
    } catch (error) {
      return this.#failed(call, error)
    }
  }

  /** Calls the code, with its input once that is parsed. */
  #call(call: ActivityCall): unknown {
    const { definition } = call.called
    if (definition?.transaction !== undefined) return this.#inTransaction(call, definition)
    const input = definition === undefined ? undefined : this.#inputOf(call)
    return isPromise(input)
      ? input.then((parsed) => this.#runCode(call, parsed))
      : this.#runCode(call, input)
  }

  #runCode(call: ActivityCall, input: unknown): unknown {
    const { definition, step, name } = call.called
    const code =
      step === undefined
        ? () => definition!.run!(input as never, call)
        : () => callStep(name, () => step(call))
    const { span } = call
    return span === undefined
      ? this.#loop.callActivity(name, call, code)
      : span.run(() => this.#loop.callActivity(name, call, code))
  }

  /**
   * Calls the code within its time limits. Code that exceeds them is left to itself, except a
   * transaction: it may be about to commit, and must be over before another attempt begins.
   */
  #callWithin(call: ActivityCall, timeoutMs: number | undefined): Promise<unknown> {
    const { definition } = call.called
    let timer: Timer | undefined
    const outOfTime = new Promise<never>((_, reject) => {
      const end = (error: TimeoutError): void => {
        call.timedOut(error)
        if (definition?.transaction !== undefined) return
        call.left = running
        reject(error)
      }
      call.watchSilence(end)
      if (timeoutMs === undefined) return
      timer = this.core.clock.after(timeoutMs, () =>
        end(
          new TimeoutError(
            `${nameOfCall(call.called)} took longer than ${timeoutMs} ms`,
            timeoutMs,
          ),
        ),
      )
    })
    const running = (async () => this.#call(call))()
    return Promise.race([running, outOfTime]).finally(() => timer?.cancel())
  }

  #completed(call: ActivityCall, value: unknown): AttemptEnd {
    call.over()
    if (call.called.definition?.transaction !== undefined) return { kind: 'stored' }
    try {
      return { kind: 'completed', payload: this.#encode(value, call) }
    } catch (error) {
      return this.#failed(call, error)
    }
  }

  #failed(call: ActivityCall, error: unknown): AttemptEnd {
    call.over()
    try {
      return this.#failedEnd(call, error)
    } catch (unreadable) {
      const message = `${nameOfCall(call.called)} threw a value that cannot be read`
      return this.#failedEnd(call, new Error(message, { cause: unreadable }))
    }
  }

  async #inTransaction(call: ActivityCall, definition: ActivityDefinition): Promise<void> {
    const { kind, withoutTransactions } = this.core.store
    try {
      checkTransaction(definition, kind, withoutTransactions)
    } catch (error) {
      throw new FinalError(error)
    }
    // Before it begins: some stores cannot await anything inside.
    const input = await this.#inputOf(call)
    await this.#transact(call, (tx) => {
      call.tx = tx
      const end = (result: unknown): string => {
        // After its timeout, or when it was cancelled, it must not commit.
        call.signal.throwIfAborted()
        return this.#encode(result, call)
      }
      const value = this.#runCode(call, input)
      return isPromise(value) ? value.then(end) : end(value)
    })
  }

  /** Runs code in a transaction of the store, which takes its result. */
  async #transact(call: ActivityCall, code: Transact['code']): Promise<void> {
    const { store, clock, random } = this.core
    const { key, fence: by } = call
    const runtime = this.#registration.number
    // The store runs one at a time. An earlier one may have stored the result, and the owner may have
    // taken it since: then this attempt is no longer wanted, and only this process knows.
    const wantedCode: Transact['code'] = (tx) => {
      if (!call.wanted) throw new CancelledError('its result has arrived')
      return code(tx)
    }
    await retry(() => store.transact({ ...key, runtime, by, code: wantedCode }), {
      clock,
      random,
      backoff: RETRY,
      // It may have been committed nevertheless: then the store refuses a second try.
      shouldRetry: (error) => isRetryableStoreError(error) && call.wanted && !call.signal.aborted,
    })
  }

  /** The input of an activity, parsed if it has a schema. */
  #inputOf({ called }: ActivityCall): unknown {
    const { definition, name, input: text } = called
    const input = this.core.values.value(text!)
    const schema = definition!.input
    if (schema === undefined) return input
    return parse(schema, input, `activity "${name}": its input`).catch((error: unknown) => {
      throw new FinalError(error)
    })
  }

  #encode(value: unknown, call: ActivityCall): string {
    const what = `${nameOfCall(call.called)}: its result`
    try {
      return this.core.values.encode(value, what, 'resultBytes', () => call.keys)
    } catch (error) {
      throw new FinalError(error)
    }
  }

  #failedEnd(call: ActivityCall, thrown: unknown): AttemptEnd {
    const { called, attempt } = call
    const { values, random, time } = this.core
    const isFinal = thrown instanceof FinalError
    const error = isFinal ? thrown.cause : thrown
    call.thrown = error
    const delayMs = isFinal ? undefined : retryDelayMs(called.retry, attempt, error, random)
    // No attempt follows that could only begin after the deadline.
    if (delayMs === undefined || time.now() + delayMs >= called.deadline) {
      return { kind: 'failed', payload: values.encodeError(finalError(called, attempt, error)) }
    }
    return { kind: 'retry', delayMs, error: values.encodeError(error) }
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** A retry would fail in the same way: the input is invalid, or the result cannot be stored. */
class FinalError extends Error {
  constructor(cause: unknown) {
    super('it would fail again', { cause })
  }
}

/** A failure is stored as itself. Anything else is wrapped, with the thrown value as its cause. */
function finalError(called: ActivityCallSpec, attempts: number, error: unknown): unknown {
  if (isFailure(error)) return error
  const { name, message } = errorToData(error)
  return new ActivityError(
    `${nameOfCall(called)} failed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${message}`,
    { activity: called.name, attempts, originalName: name },
    { cause: error },
  )
}
