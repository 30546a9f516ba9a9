import type { Timer } from '../../../base/time/clock.ts'
import { errorToData } from '../../../base/codec/error-data.ts'
import { isFailure, TimeoutError } from '../../../base/errors.ts'
import type { SharedLoopHeartbeat } from '../../../store/lease.ts'
import type { ActivityDefinition } from '../../define/definitions.ts'
import { ActivityError } from '../../core/errors.ts'
import { callStep } from '../../replay/turn.ts'
import { retryDelayMs } from '../../define/retry.ts'
import { parse } from '../../define/schema.ts'
import { checkTransaction } from '../../define/transactions.ts'
import {
  type ActivityCall,
  type ActivityCallSpec,
  type CallHost,
  nameOfCall,
} from './activity-call.ts'

/** How an attempt ended; values and errors are encoded. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly payload: string }
  | { readonly kind: 'failed'; readonly payload: string }
  /** Another one follows, after so long. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  /** A transaction: its result is in the inbox of the instance, or was refused. */
  | { readonly kind: 'stored' }

/** What attempts need. */
export interface AttemptHost extends CallHost {
  readonly heartbeat: SharedLoopHeartbeat
  readonly random: () => number
  /** The store's time. */
  now(): number
  readonly storeKind: string
  /** Why that store has no transactions, if it has none. */
  readonly withoutTransactions?: string | undefined
  /** Runs code in a transaction of the store, which takes its result. */
  transact(call: ActivityCall, code: (tx: unknown) => string | Promise<string>): Promise<void>
}

/**
 * Calls the code of an activity or a step once, within its limits. Never throws and never rejects;
 * code that returns no promise has ended at once.
 */
export function runAttempt(
  call: ActivityCall,
  host: AttemptHost,
): AttemptEnd | Promise<AttemptEnd> {
  call.begun = true
  try {
    const value = begin(call, host)
    if (!isPromise(value)) return completed(call, host, value)
    return Promise.resolve(value).then(
      (result) => completed(call, host, result),
      (error: unknown) => failed(call, host, error),
    )
  } catch (error) {
    return failed(call, host, error)
  }
}

function begin(call: ActivityCall, host: AttemptHost): unknown {
  const { definition } = call.called
  if (definition?.transaction === undefined) return limited(call, host, () => invoke(call, host))
  checkStore(definition, host)
  return limited(call, host, () => inTransaction(call, host), 'is waited for')
}

function completed(call: ActivityCall, host: AttemptHost, value: unknown): AttemptEnd {
  call.over()
  if (call.called.definition?.transaction !== undefined) return { kind: 'stored' }
  try {
    return { kind: 'completed', payload: encode(value, call, host) }
  } catch (error) {
    return failed(call, host, error)
  }
}

function failed(call: ActivityCall, host: AttemptHost, error: unknown): AttemptEnd {
  call.over()
  try {
    return failedEnd(call, host, error)
  } catch (unreadable) {
    const message = `what ${nameOfCall(call.called)} threw cannot be read`
    return failedEnd(call, host, new Error(message, { cause: unreadable }))
  }
}

function checkStore(definition: ActivityDefinition, host: AttemptHost): void {
  try {
    checkTransaction(definition, host.storeKind, host.withoutTransactions)
  } catch (error) {
    throw new FinalError(error)
  }
}

async function inTransaction(call: ActivityCall, host: AttemptHost): Promise<void> {
  // Before it begins: in some stores nothing can be waited for within.
  const input = await inputOf(call, host)
  await host.transact(call, (tx) => {
    call.tx = tx
    const end = (result: unknown): string => {
      // Out of time, or given up, it must not happen.
      call.signal.throwIfAborted()
      return encode(result, call, host)
    }
    const value = runOn(call, host, input)
    return isPromise(value) ? value.then(end) : end(value)
  })
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/**
 * Runs it within its limits in time. What is late is left to itself, unless its end `is waited for`: a
 * transaction may be about to commit, and has to be over before another attempt begins.
 */
function limited(
  call: ActivityCall,
  { clock }: AttemptHost,
  run: () => unknown,
  late: 'is left' | 'is waited for' = 'is left',
): unknown {
  const { timeoutMs, heartbeatTimeoutMs } = call.called
  if (timeoutMs === undefined && heartbeatTimeoutMs === undefined) return run()
  let timer: Timer | undefined
  const outOfTime = new Promise<never>((_, reject) => {
    const end = (error: TimeoutError): void => {
      call.timedOut(error)
      if (late === 'is waited for') return
      call.left = running
      reject(error)
    }
    call.watchSilence(end)
    if (timeoutMs === undefined) return
    timer = clock.after(timeoutMs, () =>
      end(
        new TimeoutError(`${nameOfCall(call.called)} took longer than ${timeoutMs} ms`, timeoutMs),
      ),
    )
  })
  const running = (async () => run())()
  return Promise.race([running, outOfTime]).finally(() => timer?.cancel())
}

function invoke(call: ActivityCall, host: AttemptHost): unknown {
  const { step, name } = call.called
  if (step !== undefined) {
    return host.heartbeat.callActivity(name, call, () => callStep(name, () => step(call)))
  }
  const input = inputOf(call, host)
  return isPromise(input)
    ? input.then((parsed) => runOn(call, host, parsed))
    : runOn(call, host, input)
}

function runOn(call: ActivityCall, { heartbeat }: AttemptHost, input: unknown): unknown {
  const { definition, name } = call.called
  return heartbeat.callActivity(name, call, () => definition!.run!(input as never, call))
}

/** The input of an activity, parsed if it has a schema. */
function inputOf({ called }: ActivityCall, { values }: AttemptHost): unknown {
  const { definition, name, input: text } = called
  const input = values.value(text!)
  const schema = definition!.input
  if (schema === undefined) return input
  return parse(schema, input, `activity "${name}": its input`).catch((error: unknown) => {
    throw new FinalError(error)
  })
}

function encode(value: unknown, { called }: ActivityCall, { values }: AttemptHost): string {
  try {
    return values.encode(value, `${nameOfCall(called)}: its result`)
  } catch (error) {
    throw new FinalError(error)
  }
}

function failedEnd(call: ActivityCall, host: AttemptHost, thrown: unknown): AttemptEnd {
  const { called, attempt } = call
  const { values, random } = host
  const final = thrown instanceof FinalError
  const error = final ? thrown.cause : thrown
  call.thrown = error
  const delayMs = final ? undefined : retryDelayMs(called.retry, attempt, error, random)
  // An attempt that could only begin when all is over is none.
  if (delayMs === undefined || host.now() + delayMs >= called.deadline) {
    return { kind: 'failed', payload: values.encodeError(finalError(called, attempt, error)) }
  }
  return { kind: 'retry', delayMs, error: values.encodeError(error) }
}

/** Trying again would bring the same: an input that is not valid, a result that cannot be stored. */
class FinalError extends Error {
  constructor(cause: unknown) {
    super('it would fail again', { cause })
  }
}

/** A failure crosses as itself; anything else is wrapped, with what was thrown as its cause. */
function finalError(called: ActivityCallSpec, attempts: number, error: unknown): unknown {
  if (isFailure(error)) return error
  const { name, message } = errorToData(error)
  return new ActivityError(
    `${nameOfCall(called)} failed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${message}`,
    { activity: called.name, attempts, originalName: name },
    { cause: error },
  )
}
