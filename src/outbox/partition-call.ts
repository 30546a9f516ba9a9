import type { Abortable } from '../base/sync/on-abort.ts'
import { sleep } from '../base/time/clock.ts'
import type { HandlerQueries, Settlement, StoredMessage } from '../store/outbox-store.ts'
import { isRetryableStoreError, StoreError } from '../store/store-error.ts'
import type { BatchSize } from './batch-size.ts'
import { callBatch, callSingle, type CallScope } from './call-handler.ts'
import { reportDelivery } from './delivery-report.ts'
import type { DeliverySetup } from './delivery-setup.ts'
import type { Handler, HandlerContext, TransactionalContext } from './handlers.ts'
import { type Message, messageOf } from './message.ts'
import { EXPIRED, type Outcome, reasonOf } from './outcome.ts'
import { type ReadPartition, settle, type Settled } from './settlement.ts'
import { endBatch, endDelivery } from './tracer.ts'

// A server that crashed recovers meanwhile; after a longer outage the attempt is not counted.
const RECOVERY_MS = 30_000
const RECOVERY_LOOK_MS = 500

/** What ends the calls of a batch. */
export interface CallLimits {
  readonly lost: Abortable
  readonly stopping: AbortSignal
  readonly limit: number
  readonly turnEndsMs: number
}

/** One batch of a partition. */
export class PartitionCall {
  readonly #setup: DeliverySetup
  readonly #partition: number
  readonly #read: ReadPartition
  readonly #stopping: AbortSignal
  /** How many messages are delivered at most: fewer than were read if some waited apart. */
  readonly #limit: number
  readonly #turnEndsMs: number
  readonly #scope: CallScope
  readonly #outcomes = new Map<number, Outcome>()
  /** Those of the latest settlement: of a transaction that failed, only some count. */
  #settledOutcomes: ReadonlyMap<number, Outcome> = this.#outcomes
  /** The message whose handler uses the transaction at present, or was using it when that failed. */
  #inHand: string | undefined
  /**
   * Raised when a run in a transaction begins or fails. The store may leave one that has not ended: whatever its
   * handler does later counts for nothing.
   */
  #runs = 0
  /** What is reported once it is stored. */
  #unconfirmed: Settled | undefined
  /** Whether a handler did not end in time: the partition gets a new fence before it goes on. */
  isGivenUp = false
  /** Whether the turn was over before all messages were handled. */
  isCut = false

  constructor(
    setup: DeliverySetup,
    partition: number,
    read: ReadPartition,
    { lost, stopping, limit, turnEndsMs }: CallLimits,
  ) {
    this.#setup = setup
    this.#partition = partition
    this.#read = read
    this.#stopping = stopping
    this.#limit = limit
    this.#turnEndsMs = turnEndsMs
    this.#scope = {
      clock: setup.clock,
      leaseMs: setup.leaseMs,
      graceMs: setup.graceMs,
      fence: BigInt(read.epoch),
      signal: lost,
      onGivenUp: () => (this.isGivenUp = true),
    }
  }

  /** When the partition goes on after this batch; `null` for now. */
  dueAt: number | null = null

  /** How many messages were read. */
  get read(): number {
    return this.#read.messages.length
  }

  /** Calls the handler. Returns what to settle, or null if that was done in the transaction. */
  async run(size: BatchSize): Promise<Settlement | null | 'lost'> {
    const { handler } = this.#setup
    if (handler.kind === 'transactional') return this.#runInTransaction(handler.run, size)
    if (handler.kind === 'batch') await this.#runBatch(handler.run)
    else {
      const { run } = handler
      await this.#each((message) => callSingle(this.#scope, (ctx) => run(message, ctx)))
    }
    const settled = this.#settle()
    this.#resize(settled, size)
    this.#unconfirmed = settled
    return settled.settlement
  }

  /** What `run` answered is stored. */
  settled(): void {
    if (this.#unconfirmed !== undefined) this.#report(this.#unconfirmed)
    this.#unconfirmed = undefined
  }

  /** The next claim has answered: the cursor says whether `run` was stored though its answer was lost. */
  confirm({ epoch, cursor }: Pick<ReadPartition, 'epoch' | 'cursor'>): void {
    if (this.#unconfirmed === undefined) return
    const { to } = this.#unconfirmed.settlement
    // Otherwise another process has had the partition since.
    const isNext = epoch <= this.#read.epoch + 1
    if (isNext && cursor === to && to !== this.#read.cursor) this.settled()
  }

  async #runInTransaction(
    run: Extract<Handler, { readonly kind: 'transactional' }>['run'],
    size: BatchSize,
  ): Promise<null | 'lost'> {
    const { store } = this.#setup
    let settled: Settled | undefined
    try {
      const verdict = await store.transact({
        runtime: this.#setup.runtime(),
        partition: this.#partition,
        epoch: this.#read.epoch,
        cursor: this.#read.cursor,
        work: async (tx) => {
          const number = ++this.#runs
          const isOver = (): boolean => number !== this.#runs
          this.#outcomes.clear()
          await this.#each(async (message) => {
            const outcome = await callSingle(this.#scope, (ctx) =>
              tx.attempt((queries) => {
                this.#inHand = message.id
                return run(message, withTransaction(ctx, queries))
              }),
            )
            if (!isOver()) this.#inHand = undefined
            return outcome
          }, isOver)
          if (isOver()) throw new Error('the transaction is over')
          // Its statements may still be running: nothing of this transaction can be committed.
          if (this.isGivenUp) throw new Error('a handler did not end in time')
          this.#unconfirmed = settled = this.#settle()
          return settled.settlement
        },
      })
      if (verdict === 'lost') return 'lost'
      this.#resize(settled!, size)
      this.settled()
      return null
    } catch (error) {
      this.#runs++
      return this.#afterFailedCommit(error, size)
    }
  }

  /**
   * Nothing was committed. Which message is to blame is unknown unless there was only one; so the next
   * batches are small. An error of the store is no message's fault, unless the connection ended while a handler
   * used it: its statement may crash the server each time.
   */
  async #afterFailedCommit(error: unknown, size: BatchSize): Promise<null | 'lost'> {
    const isOfStore = error instanceof StoreError
    if (isOfStore && this.#inHand === undefined) throw error
    this.#unconfirmed = undefined
    const { log, topic } = this.#setup
    const index = this.#partition - this.#setup.first
    const tried = this.#deliverable()
    size.failed()
    if (this.isGivenUp) {
      // What others did is undone; what is known of single messages is not.
      const left = [...this.#outcomes].filter(([, { kind }]) => kind !== 'done')
      return this.#write(new Map(left))
    }
    if (tried.length !== 1) {
      log.warn(
        { topic, partition: index, messages: tried.length, id: this.#inHand, err: error },
        'handler transaction failed; nothing was committed; retrying one message at a time',
      )
      return this.#write(new Map())
    }
    if (isOfStore && (await this.#untilAnswered()) === 'lost') return 'lost'
    const retry: Outcome = { kind: 'retry', afterMs: undefined, error }
    return this.#write(new Map([[tried[0]!.position, retry]]))
  }

  /** Waits for a server that recovers from a crash, by a step that changes nothing. */
  async #untilAnswered(): Promise<null | 'lost'> {
    const { clock } = this.#setup
    const untilMs = clock.now() + RECOVERY_MS
    for (;;) {
      try {
        return await this.#write(new Map())
      } catch (error) {
        const isOver = this.#stopping.aborted || clock.now() >= untilMs
        if (isOver || !isRetryableStoreError(error)) throw error
        await sleep(clock, RECOVERY_LOOK_MS)
      }
    }
  }

  /** Records outcomes in a step of its own. */
  async #write(outcomes: ReadonlyMap<number, Outcome>): Promise<null | 'lost'> {
    const { step } = this.#setup
    const settled = this.#settle(outcomes)
    const answer = await step({
      partition: this.#partition,
      epoch: this.#read.epoch,
      settle: settled.settlement,
      read: 0,
      release: 'never',
    })
    if (answer.state !== 'ok') return 'lost'
    this.#report(settled)
    return null
  }

  /** Messages in the order in which they are delivered, without those that wait behind others. */
  #deliverable(): StoredMessage[] {
    const { due, messages, waitingKeys } = this.#read
    const waiting = new Set(waitingKeys)
    const all = [...due, ...messages.filter(({ key }) => key === null || !waiting.has(key))]
    return all.slice(0, this.#limit)
  }

  /** Calls the handler with one message after the other, up to the first that blocks the others. */
  async #each(
    call: (message: Message<unknown>) => Promise<Outcome>,
    isOver = (): boolean => false,
  ): Promise<void> {
    const { policy, clock } = this.#setup
    const failed = new Set<string>()
    for (const [place, stored] of this.#deliverable().entries()) {
      if (stored.key !== null && failed.has(stored.key)) continue
      this.isCut = place > 0 && clock.now() >= this.#turnEndsMs
      if (this.isCut) return
      if (this.#stopping.aborted || this.#scope.signal.aborted || this.isGivenUp) return
      const outcome = this.#unreadable(stored) ?? (await this.#call(call, stored))
      if (isOver()) return
      if (outcome.kind === 'untried') return
      this.#outcomes.set(stored.position, outcome)
      if (outcome.kind !== 'retry') continue
      if (policy.whenStuck !== 'skip') return
      if (stored.key !== null) failed.add(stored.key)
    }
  }

  /** Calls the handler, and measures and traces that, if there is a meter or a tracer. */
  #call(
    call: (message: Message<unknown>) => Promise<Outcome>,
    stored: StoredMessage,
  ): Promise<Outcome> {
    const { meter, tracer, topic, clock } = this.#setup
    const message = this.#message(stored)
    if (meter === undefined && tracer === undefined) return call(message)
    const begunMs = clock.now()
    const span = tracer?.delivery(message)
    const calling = span === undefined ? call(message) : span.run(() => call(message))
    return calling.then((outcome) => {
      meter?.handled(topic, outcome.kind, clock.now() - begunMs)
      if (span !== undefined) endDelivery(span, outcome)
      return outcome
    })
  }

  async #runBatch(run: Extract<Handler, { readonly kind: 'batch' }>['run']): Promise<void> {
    const deliverable: StoredMessage[] = []
    for (const stored of this.#deliverable()) {
      const outcome = this.#unreadable(stored)
      if (outcome === undefined) deliverable.push(stored)
      else this.#outcomes.set(stored.position, outcome)
    }
    if (deliverable.length === 0) return
    const messages = deliverable.map((stored) => this.#message(stored))
    const { meter, tracer, topic, clock } = this.#setup
    const begunMs = clock.now()
    const span = tracer?.batch(topic, messages)
    const call = () => callBatch(this.#scope, messages, run)
    const outcomes = await (span === undefined ? call() : span.run(call))
    meter?.handled(topic, 'batch', clock.now() - begunMs)
    if (span !== undefined) endBatch(span, outcomes)
    deliverable.forEach(({ position }, i) => {
      if (outcomes[i]!.kind !== 'untried') this.#outcomes.set(position, outcomes[i]!)
    })
  }

  readonly #decoded = new Map<number, Message<unknown>>()

  #message(stored: StoredMessage): Message<unknown> {
    return this.#decoded.get(stored.position)!
  }

  /** The outcome of a message that no handler gets: it has expired, was tried too often, or cannot be decoded. */
  #unreadable(stored: StoredMessage): Outcome | undefined {
    const { topic, first, decode, policy, storeNow } = this.#setup
    if (stored.expiresAt !== null && stored.expiresAt <= storeNow()) return EXPIRED
    if (policy.whenStuck === 'park' && stored.failures >= policy.maxAttempts) {
      const reason =
        stored.failures === policy.maxAttempts
          ? 'the process that delivered it died in the last attempt'
          : `it has failed ${stored.failures} times, and maxAttempts is ${policy.maxAttempts} now`
      return { kind: 'exhausted', reason }
    }
    try {
      const message = messageOf(stored, topic, this.#partition - first, decode)
      this.#decoded.set(stored.position, message)
      return undefined
    } catch (error) {
      return { kind: 'reject', reason: `the payload cannot be decoded: ${reasonOf(error)}` }
    }
  }

  #settle(outcomes: ReadonlyMap<number, Outcome> = this.#outcomes): Settled {
    const { policy, storeNow } = this.#setup
    this.#settledOutcomes = outcomes
    const settled = settle(this.#read, outcomes, policy, storeNow())
    this.dueAt = settled.settlement.dueAt
    return settled
  }

  #resize({ retries, dead, delivered, expired }: Settled, size: BatchSize): void {
    const { handler, policy } = this.#setup
    const apart = policy.whenStuck === 'skip' ? retries.length : 0
    size.passed(delivered + expired + dead.length + apart)
    // Where others pass a message that failed, small batches would only delay them.
    const isPassed = policy.whenStuck === 'skip' && handler.kind !== 'batch'
    if (isPassed) size.succeeded()
    else if (dead.length > 0) size.rejected(delivered)
    else if (this.#isSplit()) size.failed()
    else if (retries.length > 0) size.retried(delivered)
    else size.succeeded()
  }

  /** Whether one message of the batch is to be found that will become a dead letter. */
  #isSplit(): boolean {
    return [...this.#outcomes.values()].some((one) => one.kind === 'retry' && one.isFinal === true)
  }

  #report(settled: Settled): void {
    reportDelivery(this.#setup, this.#partition, this.#read, settled, this.#settledOutcomes)
  }
}

/** The context of a transactional handler. Its signal is still made on demand. */
function withTransaction(ctx: HandlerContext, tx: HandlerQueries): TransactionalContext {
  return {
    get signal() {
      return ctx.signal
    },
    fence: ctx.fence,
    retry: (after) => ctx.retry(after),
    reject: (reason) => ctx.reject(reason),
    tx,
  }
}
