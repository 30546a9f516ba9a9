import type { Logger } from '../base/log.ts'
import { catchRejection } from '../base/thenable.ts'
import type { HintSubscription } from '../store/hints.ts'
import type {
  DeadLetterRequest,
  DeadLetterRow,
  NewMessage,
  NewTopic,
  OutboxInTransaction,
  OutboxListener,
  OutboxStore,
  OutboxTick,
  OutboxTransact,
  PartitionStats,
  PartitionWork,
  Step,
  StepAnswer,
  TopicRow,
} from '../store/outbox-store.ts'
import { StoreError } from '../store/store-error.ts'
import { tablesOf } from './outbox/tables.ts'
import { after } from './file/times.ts'
import { OutboxTransactor } from './outbox/transact.ts'
import { outboxWithin } from './outbox/within.ts'
import { OutboxHints } from './thread/outbox-hints.ts'
import type { ArgsOf, OperationName, ResultOf } from './thread/table.ts'
import type { StoreThread } from './thread/store-thread.ts'
import { type UserTransaction, userTransaction } from './transactions/user-transaction.ts'

type OutboxOperation = Extract<OperationName, `outbox${string}`>

type AfterPrefix<Args> = Args extends [prefix: string, ...rest: infer Others] ? Others : never

/** An outbox in the file of a workflow store. `outbox/` has what each method does. */
export class SqliteOutboxStore implements OutboxStore {
  readonly kind = 'sqlite'
  readonly withoutTransactions: string | undefined
  readonly #prefix: string
  readonly #thread: StoreThread
  readonly #clockOffsetMs: () => number
  readonly #transactor: OutboxTransactor
  readonly #hints: OutboxHints
  readonly #onClose: () => void
  /** That of the latest listener. */
  #log: Logger | undefined
  #closed = false

  /** The thread and the clock are those of the workflow store; `onClose` is called when this is closed. */
  constructor(
    prefix: string,
    thread: StoreThread,
    clockOffsetMs: () => number,
    onClose: () => void,
  ) {
    tablesOf(prefix)
    this.#onClose = onClose
    this.#prefix = prefix
    this.#thread = thread
    this.#clockOffsetMs = clockOffsetMs
    this.#transactor = new OutboxTransactor(prefix, thread)
    this.#hints = new OutboxHints(thread.hub, prefix, () => this.#call('outboxOutlook'))
    this.withoutTransactions = this.#transactor.unable
  }

  async open(): Promise<void> {
    await this.#call('outboxOpen')
  }

  topics(topics: readonly NewTopic[]): Promise<readonly TopicRow[]> {
    return this.#call('outboxTopics', topics)
  }

  allTopics(): Promise<readonly TopicRow[]> {
    return this.#call('outboxAllTopics')
  }

  within(tx: unknown, { notify }: { readonly notify: boolean }): OutboxInTransaction {
    const user = userTransaction(this.#thread, tx, this.#clockOffsetMs)
    return outboxWithin(this.#prefix, user, (messages, clock) => {
      if (!notify || !this.#hints.hasListeners) return
      catchRejection(this.#announceAfter(user, messages, clock), (error) => {
        // The commit is noticed like one of another process.
        this.#log?.error({ err: error }, 'handling a hint failed')
      })
    })
  }

  async steps(
    runtime: number,
    steps: readonly Step[],
  ): Promise<{ clock: number; answers: readonly StepAnswer[] }> {
    return this.#call('outboxSteps', runtime, steps)
  }

  async transact(work: OutboxTransact): Promise<'done' | 'lost'> {
    this.#checkOpen('transact')
    return this.#transactor.transact(work, this.#clockOffsetMs)
  }

  look(
    partitions: readonly number[] | null,
  ): Promise<{ clock: number; work: readonly PartitionWork[] }> {
    return this.#call('outboxLook', partitions)
  }

  async moveDelayed(): Promise<{
    clock: number
    partitions: readonly number[]
    nextAt: number | null
  }> {
    const moved = await this.#call('outboxMoveDelayed')
    this.#hints.announce(moved.partitions, 0)
    return moved
  }

  async tick(runtime: number, leaseMs: number): Promise<OutboxTick> {
    this.#hints.useRuntime(runtime)
    return this.#call('outboxTick', runtime, leaseMs)
  }

  removeDone(limit: number): Promise<number> {
    return this.#call('outboxRemoveDone', limit)
  }

  async tidy(keep: { readonly keysMs: number; readonly lettersMs: number }): Promise<void> {
    // Some at a time: others have the file in between.
    while (await this.#call('outboxTidy', keep));
  }

  stats(
    topics: readonly number[],
  ): Promise<{ clock: number; partitions: readonly PartitionStats[] }> {
    return this.#call('outboxStats', topics)
  }

  deadLetters(request: DeadLetterRequest): Promise<readonly DeadLetterRow[]> {
    return this.#call('outboxDeadLetters', request)
  }

  countDeadLetters(request: DeadLetterRequest): Promise<number> {
    return this.#call('outboxCountDeadLetters', request)
  }

  replayDeadLetters(
    request: DeadLetterRequest,
    deadlineMs: number,
  ): Promise<readonly DeadLetterRow[]> {
    return this.#call('outboxReplayDeadLetters', request, deadlineMs)
  }

  async requeueDeadLetters(letters: readonly number[]): Promise<readonly number[]> {
    const partitions = await this.#call('outboxRequeueDeadLetters', letters)
    this.#hints.announce([...new Set(partitions)], 0)
    return partitions
  }

  resolveDeadLetters(letters: readonly number[]): Promise<number> {
    return this.#call('outboxResolveDeadLetters', letters)
  }

  rejectDeadLetters(letters: readonly number[], reason: string): Promise<number> {
    return this.#call('outboxRejectDeadLetters', letters, reason)
  }

  discardDeadLetters(request: DeadLetterRequest): Promise<number> {
    return this.#call('outboxDiscardDeadLetters', request)
  }

  cleanupDeadLetters(request: DeadLetterRequest): Promise<number> {
    return this.#call('outboxCleanupDeadLetters', request)
  }

  /** Within this process. Others notice each commit. */
  async wakeOthers(): Promise<void> {
    this.#hints.wakeAll()
  }

  listen(listener: OutboxListener): HintSubscription {
    this.#log = listener.log
    return this.#hints.listen(listener)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#onClose()
    this.#transactor.close()
    await this.#hints.close()
  }

  /** The transaction may be rolled back: then there is nothing to find. */
  async #announceAfter(
    { ended }: UserTransaction,
    messages: readonly NewMessage[],
    clock: number,
  ): Promise<void> {
    // Where its end cannot be seen, the commit is noticed like one of another process.
    if (ended === undefined) return
    const now = messages.filter(({ delayMs }) => delayMs <= 0)
    const later = messages.filter(({ delayMs }) => delayMs > 0)
    // One by one: a call takes only so many arguments.
    const soonestMs = later.reduce((least, { delayMs }) => Math.min(least, delayMs), Infinity)
    const at = after(clock, soonestMs)
    await ended()
    this.#hints.announce(partitionsOf(now), 0)
    this.#hints.announce(partitionsOf(later), at)
  }

  async #call<Name extends OutboxOperation>(
    operation: Name,
    ...rest: AfterPrefix<ArgsOf<Name>>
  ): Promise<ResultOf<Name>> {
    this.#checkOpen(operation)
    const args = [this.#prefix, ...rest] as unknown as ArgsOf<Name>
    return this.#thread.call(operation, args, this.#clockOffsetMs())
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new StoreError('closed', `sqlite ${operation}`, 'the outbox was closed')
  }
}

function partitionsOf(messages: readonly NewMessage[]): readonly number[] {
  return [...new Set(messages.map(({ partition }) => partition))]
}
