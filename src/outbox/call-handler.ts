// Calls handlers, one message or one batch at a time, and finds out what became of each message.
//
//   - A handler that throws has failed; `ctx.retry` and `ctx.reject` throw as well, so that no code behind
//     them runs.
//   - At the end of its lease the signal aborts. A handler that does not end soon after is given up: its
//     message counts as failed, and whatever the handler still does counts for nothing.
//   - What fails after the outbox began to stop, or lost the partition, is not the fault of the message.

import { describe } from '../base/describe.ts'
import { isRetryable, TimeoutError } from '../base/errors.ts'
import { LazySignal } from '../base/sync/lazy-signal.ts'
import { type Abortable, onAbort } from '../base/sync/on-abort.ts'
import type { Clock } from '../base/time/clock.ts'
import { type Duration, durationMs } from '../base/time/duration.ts'
import { TransactionLostError } from '../store/outbox-store.ts'
import type { BatchContext, HandlerContext } from './handlers.ts'
import type { Message } from './message.ts'
import { DONE, type Outcome, reasonOf, shortReason, UNTRIED } from './outcome.ts'

/** What a call of a handler depends on. */
export interface CallScope {
  readonly clock: Clock
  readonly leaseMs: number
  readonly fence: bigint
  /** Aborts when the partition is lost or the outbox stops. */
  readonly signal: Abortable
  /** How long a handler may go on after its signal: less than usual while the outbox stops. */
  readonly graceMs: () => number
  /** Called when a handler was given up: it may still be running. */
  readonly onGivenUp: () => void
}

const MAX_GRACE_MS = 2_000

/** What `ctx.retry` throws. */
export class RetryRequest extends Error {
  readonly afterMs: number | undefined

  constructor(after: Duration | undefined) {
    super('the handler asked for another attempt')
    this.afterMs =
      after === undefined ? undefined : Math.ceil(durationMs(after, 'ctx.retry: after'))
  }
}

class Rejection extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** Calls a handler with one message. */
export async function callSingle(
  scope: CallScope,
  run: (ctx: HandlerContext) => Promise<unknown>,
): Promise<Outcome> {
  return outcomeOf(scope, (signal) =>
    run({
      get signal() {
        return signal()
      },
      fence: scope.fence,
      retry: (after) => {
        throw new RetryRequest(after)
      },
      reject: (reason) => {
        throw new Rejection(shortReason(checkReason(reason)))
      },
    }),
  )
}

/** Calls a handler with a batch; `decided` receives the outcome of each message by its place. */
export async function callBatch(
  scope: CallScope,
  messages: readonly Message<unknown>[],
  run: (messages: readonly Message<unknown>[], ctx: BatchContext<unknown>) => Promise<unknown>,
): Promise<readonly Outcome[]> {
  const places = new Map(messages.map((message, place) => [message, place]))
  const outcomes: (Outcome | undefined)[] = Array.from({ length: messages.length })
  let isOver = false
  let isExplicit = false
  const decide = (verb: string, message: Message<unknown>, outcome: Outcome): void => {
    const place = places.get(message)
    if (place === undefined) {
      throw new TypeError(`ctx.${verb}: needs a message of this batch, got ${describe(message)}`)
    }
    if (isOver) {
      throw new Error(
        `ctx.${verb}: the batch of message ${message.id} is over: the handler has returned or was given up`,
      )
    }
    if (outcomes[place] !== undefined) {
      throw new Error(
        `ctx.${verb}: message ${message.id} has already been decided: ${outcomes[place].kind}`,
      )
    }
    isExplicit = true
    outcomes[place] = outcome
  }
  const rest = await outcomeOf(scope, (signal) =>
    run(messages, {
      get signal() {
        return signal()
      },
      fence: scope.fence,
      ack: (message) => decide('ack', message, DONE),
      retry: (message, after) => {
        const error = new RetryRequest(after)
        decide('retry', message, { kind: 'retry', afterMs: error.afterMs, error })
      },
      reject: (message, reason) =>
        decide('reject', message, { kind: 'reject', reason: shortReason(checkReason(reason)) }),
    }),
  )
  isOver = true
  // A handler that decides about messages itself has not handled those that it said nothing about.
  const undecided: Outcome =
    rest.kind === 'done' && isExplicit
      ? {
          kind: 'retry',
          afterMs: undefined,
          error: new Error(
            'the batch handler returned without ack, retry or reject for this message',
          ),
        }
      : rest
  const isShared = rest.kind !== 'done' && outcomes.filter((one) => one === undefined).length > 1
  return outcomes.map((outcome) => outcome ?? (isShared ? shared(rest) : undecided))
}

/** The outcome of each message of a batch that failed as a whole: they are tried again, one by one. */
function shared(outcome: Outcome): Outcome {
  if (outcome.kind === 'retry') return { ...outcome, isShared: true }
  if (outcome.kind !== 'reject') return outcome
  return {
    kind: 'retry',
    afterMs: 0,
    error: new Error(outcome.reason),
    isShared: true,
    isFinal: true,
  }
}

/** Runs code of a user within its time, and says what became of it. */
async function outcomeOf(
  { clock, leaseMs, signal: outer, graceMs, onGivenUp }: CallScope,
  run: (signal: () => AbortSignal) => Promise<unknown>,
): Promise<Outcome> {
  const lazy = new LazySignal()
  let giveUp!: (error: Error) => void
  const givenUp = new Promise<never>((_, reject) => (giveUp = reject))
  givenUp.catch(() => {})
  let timer = clock.after(leaseMs, () =>
    abort(new TimeoutError(`the handler took longer than ${leaseMs} ms`, leaseMs)),
  )
  const abort = (why: Error): void => {
    if (lazy.reason !== undefined) return
    lazy.abort(why)
    timer.cancel()
    timer = clock.after(Math.min(MAX_GRACE_MS, leaseMs, graceMs()), () => {
      onGivenUp()
      giveUp(why)
    })
  }
  const stopListening = onAbort(outer, () => abort(outer.reason as Error))
  try {
    const code = (): Promise<unknown> => Promise.race([run(() => lazy.signal), givenUp])
    await (clock.running === undefined ? code() : clock.running(code))
    return DONE
  } catch (thrown) {
    const error = examinable(thrown)
    if (error instanceof RetryRequest) return { kind: 'retry', afterMs: error.afterMs, error }
    if (error instanceof Rejection) return { kind: 'reject', reason: error.reason }
    if (error instanceof TransactionLostError) throw error
    if (outer.aborted) return UNTRIED
    if (!isRetryable(error)) return { kind: 'reject', reason: reasonOf(error) }
    return { kind: 'retry', afterMs: undefined, error: lazy.reason ?? error }
  } finally {
    timer.cancel()
    stopListening()
  }
}

/** What was thrown, or an error in its place if it is a proxy that cannot even be asked for its class. */
function examinable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error)
    return thrown
  } catch {
    return new Error(`the handler threw ${describe(thrown)}`)
  }
}

function checkReason(reason: unknown): string {
  if (typeof reason === 'string' && reason !== '') return reason
  throw new TypeError(`ctx.reject: reason must be a non-empty string, got ${describe(reason)}`)
}
