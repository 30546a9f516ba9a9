import { describe, expect, test } from 'vitest'
import { failure, TimeoutError } from '../base/errors.ts'
import { TransactionLostError } from '../store/outbox-store.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { callBatch, callSingle, type CallScope } from './call-handler.ts'
import type { BatchContext, HandlerContext } from './handlers.ts'
import type { Message } from './message.ts'

function scope(more: Partial<CallScope> = {}) {
  const clock = virtualClock()
  const outer = new AbortController()
  let givenUp = 0
  const of: CallScope = {
    clock,
    leaseMs: 10_000,
    fence: 3n,
    signal: outer.signal,
    graceMs: () => Infinity,
    onGivenUp: () => void givenUp++,
    ...more,
  }
  return { of, clock, outer, givenUp: () => givenUp }
}

const never = new Promise<never>(() => {})

const failing = (): Promise<never> => Promise.reject(new Error('one of you'))

/** A handler that waits for its signal, and then fails with its reason. */
const obeys = ({ signal }: Pick<HandlerContext, 'signal'>): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

function messages(count: number): Message<unknown>[] {
  return Array.from({ length: count }, (_, i) => ({
    id: String(i + 1),
    topic: 'orders',
    key: '',
    partition: 0,
    seq: i + 1,
    payload: i,
    attempt: 1,
    headers: {},
    enqueuedAt: new Date(0),
  }))
}

describe('one message', () => {
  test('a handler that returns has handled it', async () => {
    const { of, clock } = scope()

    expect(await callSingle(of, async () => {})).toEqual({ kind: 'done' })
    expect(clock.pending).toBe(0)
  })

  test('a handler that throws has failed', async () => {
    const error = new Error('no')

    expect(await callSingle(scope().of, () => Promise.reject(error))).toEqual({
      kind: 'retry',
      afterMs: undefined,
      error,
    })
  })

  test('a handler that throws before its first await has failed as well', async () => {
    const outcome = await callSingle(scope().of, () => {
      throw new Error('at once')
    })

    expect(outcome.kind).toBe('retry')
  })

  test('an error that says it cannot be retried makes a dead letter', async () => {
    const Gone = failure('Gone', { retryable: false })

    const outcome = await callSingle(scope().of, () => Promise.reject(new Gone('no such thing')))

    expect(outcome).toEqual({ kind: 'reject', reason: 'Gone: no such thing' })
  })

  test('ctx.retry ends the attempt, with a time of its own or without', async () => {
    const after: unknown[] = []
    const call = (given?: number | '2s') =>
      callSingle(scope().of, async (ctx) => {
        ctx.retry(given)
        after.push('never reached')
      })

    expect(await call()).toMatchObject({ kind: 'retry', afterMs: undefined })
    expect(await call('2s')).toMatchObject({ kind: 'retry', afterMs: 2_000 })
    expect(await call(0)).toMatchObject({ kind: 'retry', afterMs: 0 })
    expect(after).toEqual([])
  })

  test('ctx.reject ends the attempt with a reason', async () => {
    const outcome = await callSingle(scope().of, async (ctx) => ctx.reject('unknown customer'))

    expect(outcome).toEqual({ kind: 'reject', reason: 'unknown customer' })
  })

  test('a reason that is none, and a time that is none, are refused', async () => {
    const reject = await callSingle(scope().of, async (ctx) => ctx.reject(''))
    const retry = await callSingle(scope().of, async (ctx) => ctx.retry('soon' as never))

    expect(reject).toMatchObject({
      kind: 'retry',
      error: new TypeError('ctx.reject: reason must be a non-empty string, got ""'),
    })
    expect(retry).toMatchObject({ kind: 'retry' })
    expect(String((retry as { error: Error }).error)).toContain('ctx.retry: after')
  })

  test('a handler sees the fence', async () => {
    let fence = 0n
    await callSingle(scope().of, async (ctx) => void (fence = ctx.fence))

    expect(fence).toBe(3n)
  })

  test('a lost transaction is not the fault of the message', async () => {
    const error = new TransactionLostError(new Error('connection'))

    await expect(callSingle(scope().of, () => Promise.reject(error))).rejects.toBe(error)
  })
})

describe('the time of a handler', () => {
  test('its signal aborts at the end of its lease, and not before [remaining_returns_time_until_deadline] [remaining_returns_zero_when_past_deadline]', async () => {
    const { of, clock, givenUp } = scope()
    const aborted: boolean[] = []
    const outcome = callSingle(of, async (ctx) => {
      aborted.push(ctx.signal.aborted)
      of.clock.after(9_999, () => aborted.push(ctx.signal.aborted))
      await obeys(ctx)
    })

    await clock.advance(10_000)

    expect(aborted).toEqual([false, false])
    expect(await outcome).toMatchObject({
      kind: 'retry',
      error: new TimeoutError('the handler took longer than 10000 ms', 10_000),
    })
    expect(givenUp()).toBe(0)
  })

  test('one that ignores its signal is given up two seconds later', async () => {
    const { of, clock, givenUp } = scope()
    const outcome = callSingle(of, () => never)

    await clock.advance(11_999)
    const before = givenUp()
    await clock.advance(1)

    expect(await outcome).toMatchObject({ kind: 'retry', error: { name: 'TimeoutError' } })
    expect([before, givenUp(), clock.pending]).toEqual([0, 1, 0])
  })

  test('the grace is never longer than the lease', async () => {
    const { of, clock, givenUp } = scope({ leaseMs: 100 })
    const outcome = callSingle(of, () => never)

    await clock.advance(200)

    expect(await outcome).toMatchObject({ kind: 'retry' })
    expect(givenUp()).toBe(1)
  })

  test('one that finishes within the grace has handled its message', async () => {
    const { of, clock, givenUp } = scope()
    const outcome = callSingle(of, () => new Promise<void>((done) => clock.after(11_000, done)))

    await clock.advance(11_000)

    expect(await outcome).toEqual({ kind: 'done' })
    expect(givenUp()).toBe(0)
  })

  test('what fails after the outbox stops was not tried', async () => {
    const { of, outer } = scope()
    const outcome = callSingle(of, (ctx) => obeys(ctx))

    outer.abort(new Error('stopping'))

    expect(await outcome).toEqual({ kind: 'untried' })
  })

  test('what succeeds after the outbox stops was done', async () => {
    const { of, outer } = scope()
    const outcome = callSingle(of, async (ctx) => {
      await obeys(ctx).catch(() => {})
    })

    outer.abort(new Error('stopping'))

    expect(await outcome).toEqual({ kind: 'done' })
  })

  test('one that hangs while the outbox stops is given up', async () => {
    const { of, clock, outer, givenUp } = scope()
    const outcome = callSingle(of, () => never)
    outer.abort(new Error('stopping'))

    await clock.advance(2_000)

    expect(await outcome).toEqual({ kind: 'untried' })
    expect(givenUp()).toBe(1)
  })

  test('it has no more grace than the stop has time left', async () => {
    let graceMs = Infinity
    const { of, clock, outer, givenUp } = scope({ graceMs: () => graceMs })
    const outcome = callSingle(of, () => never)
    graceMs = 150
    outer.abort(new Error('stopping'))

    await clock.advance(149)
    const before = givenUp()
    await clock.advance(1)

    expect(await outcome).toEqual({ kind: 'untried' })
    expect([before, givenUp()]).toEqual([0, 1])
  })

  test('the signal says why', async () => {
    const { of, outer } = scope()
    const reason = new Error('the partition is lost')
    let seen: unknown
    const outcome = callSingle(of, async (ctx) => {
      await obeys(ctx).catch(() => {})
      seen = ctx.signal.reason
    })

    outer.abort(reason)
    await outcome

    expect(seen).toBe(reason)
  })
})

describe('a batch', () => {
  type Run = (batch: readonly Message<unknown>[], ctx: BatchContext<unknown>) => Promise<void>

  const kinds = async (count: number, run: Run, of = scope().of): Promise<string[]> => {
    const outcomes = await callBatch(of, messages(count), run)
    return outcomes.map(({ kind }) => kind)
  }

  test('a handler that decides nothing has handled all of them [leased_blanket_all_success] [next_iterates_all_messages]', async () => {
    expect(await kinds(5, async () => {})).toEqual(Array.from({ length: 5 }, () => 'done'))
  })

  test('each message can be decided by itself [ack_and_ack_chunk_track_progress] [reject_tracks_rejection_and_progress]', async () => {
    const outcomes = await callBatch(scope().of, messages(3), async ([a, b, c], ctx) => {
      ctx.ack(a!)
      ctx.reject(b!, 'bad')
      ctx.retry(c!, '1s')
    })

    expect(outcomes).toMatchObject([
      { kind: 'done' },
      { kind: 'reject', reason: 'bad' },
      { kind: 'retry', afterMs: 1_000 },
    ])
  })

  test('a message that nothing was said about is tried again when others were decided', async () => {
    const outcomes = await callBatch(scope().of, messages(3), async ([a, , c], ctx) => {
      ctx.ack(a!)
      ctx.ack(c!)
    })

    expect(outcomes).toMatchObject([
      { kind: 'done' },
      {
        kind: 'retry',
        error: {
          message: 'the batch handler returned without ack, retry or reject for this message',
        },
      },
      { kind: 'done' },
    ])
  })

  test('what was decided before an error counts [leased_blanket_retry_at_third]', async () => {
    const outcomes = await kinds(4, async ([a, b], ctx) => {
      ctx.ack(a!)
      ctx.ack(b!)
      throw new Error('third')
    })

    expect(outcomes).toEqual(['done', 'done', 'retry', 'retry'])
  })

  test('when a batch fails, nobody knows which message is to blame, unless there is only one', async () => {
    const both = await callBatch(scope().of, messages(2), failing)
    const alone = await callBatch(scope().of, messages(1), failing)
    const left = await callBatch(scope().of, messages(2), async ([a], ctx) => {
      ctx.ack(a!)
      throw new Error('the other')
    })

    expect(both).toMatchObject([{ isShared: true }, { isShared: true }])
    expect(alone[0]).not.toHaveProperty('isShared')
    expect(left[1]).not.toHaveProperty('isShared')
  })

  test('a failure that cannot be retried rejects a message only if it was alone', async () => {
    const Gone = failure('BatchGone', { retryable: false })
    const gone = async () => {
      throw new Gone('no such account')
    }
    const both = await callBatch(scope().of, messages(2), gone)
    const alone = await callBatch(scope().of, messages(1), gone)

    const again = { kind: 'retry', afterMs: 0, isShared: true, isFinal: true }
    expect(both).toMatchObject([again, again])
    expect(alone).toEqual([{ kind: 'reject', reason: 'BatchGone: no such account' }])
  })

  test('a rejection does not stop the others [leased_blanket_reject_continues]', async () => {
    const outcomes = await kinds(5, async (batch, ctx) => {
      for (const message of batch) {
        if (message.seq === 2) ctx.reject(message, 'bad')
        else ctx.ack(message)
      }
    })

    expect(outcomes).toEqual(['done', 'reject', 'done', 'done', 'done'])
  })

  test('deciding twice about a message is refused', async () => {
    const errors: unknown[] = []
    const run: Run = async ([a], ctx) => {
      ctx.ack(a!)
      try {
        ctx.reject(a!, 'bad')
      } catch (error) {
        errors.push(error)
      }
    }

    expect(await kinds(1, run)).toEqual(['done'])
    expect(errors).toEqual([new Error('ctx.reject: message 1 has already been decided: done')])
  })

  test('a message of another batch is refused', async () => {
    const outcomes = await callBatch(scope().of, messages(1), async ([a], ctx) => {
      ctx.ack({ ...a! })
    })

    expect(outcomes).toMatchObject([
      {
        kind: 'retry',
        error: new TypeError('ctx.ack: needs a message of this batch, got an object'),
      },
    ])
  })

  test('a refused decision counts for nothing', async () => {
    const outcomes = await callBatch(scope().of, messages(2), async ([a], ctx) => {
      expect(() => ctx.reject(a!, '')).toThrow('reason must be a non-empty string')
    })

    expect(outcomes.map(({ kind }) => kind)).toEqual(['done', 'done'])
  })

  test('deciding after the end is refused, and says so', async () => {
    let late: (() => void) | undefined
    await callBatch(scope().of, messages(1), async ([a], ctx) => {
      late = () => ctx.ack(a!)
    })

    expect(late!).toThrow(
      new Error(
        'ctx.ack: the batch of message 1 is over: the handler has returned or was given up',
      ),
    )
  })

  test('one that hangs is given up: what it decided counts, and no more', async () => {
    const { of, clock, givenUp } = scope()
    let ctx: BatchContext<unknown> | undefined
    const batch = messages(3)
    const outcomes = callBatch(of, batch, async ([a], given) => {
      ctx = given
      ctx.ack(a!)
      await never
    })

    await clock.advance(12_000)

    expect((await outcomes).map(({ kind }) => kind)).toEqual(['done', 'retry', 'retry'])
    expect(givenUp()).toBe(1)
    expect(() => ctx!.ack(batch[1]!)).toThrow('is over')
  })

  test('what it decided before the outbox stopped counts; the rest was not tried', async () => {
    const { of, outer } = scope()
    const outcomes = callBatch(of, messages(3), async ([a], ctx) => {
      ctx.ack(a!)
      await obeys(ctx)
    })

    outer.abort(new Error('stopping'))

    expect((await outcomes).map(({ kind }) => kind)).toEqual(['done', 'untried', 'untried'])
  })
})
