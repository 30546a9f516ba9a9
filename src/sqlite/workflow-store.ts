import type { ImportItem, Terminated, Termination } from '../store/admin.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimRequest,
  Loaded,
  CachedInstance,
  LoadRequest,
} from '../store/claims.ts'
import type {
  CommitAnswer,
  CommitBatch,
  StartBatchOptions,
  StartItem,
  HistoryPage,
  TurnRow,
  Verdict,
} from '../store/commits.ts'
import type { AdminStore } from '../store/admin-store.ts'
import type { HintStore } from '../store/hints.ts'
import type { Delivery, Post, PostAnswer } from '../store/inbox.ts'
import type { Iid, InstanceRow, WorkflowName } from '../store/instances.ts'
import type { LeaseKeeper, LeaseRequest } from '../store/lease-keeper.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type {
  LeaseAnswer,
  Registered,
  RegisterRequest,
  TickAnswer,
  TickRequest,
} from '../store/runtimes.ts'
import type { ScheduleStore } from '../store/schedules.ts'
import { StoreError } from '../store/store-error.ts'
import type {
  Beat,
  TaskAnswer,
  TaskAttempt,
  TaskRequest,
  TaskResult,
  TaskVerdict,
} from '../store/tasks.ts'
import type { StoreInTransaction, Transact } from '../store/transactions.ts'
import type { Whereabouts } from '../store/whereabouts.ts'
import type { WorkflowStore } from '../store/workflow-store.ts'
import type { ArgsOf, OperationName, ResultOf } from './thread/table.ts'
import { sqliteAdminStore } from './admin-store.ts'
import { SqliteOutboxStore } from './outbox-store.ts'
import { packCommit } from './packing/packed-commit.ts'
import { unpackLoad, unpackTurns } from './packing/packed-history.ts'
import type { StoreThread } from './thread/store-thread.ts'
import { SqliteTransactor } from './transactions/transact.ts'
import { withinTransaction } from './transactions/within.ts'

/** Workflow instances in an SQLite file. The methods are in `operations/`. */
export class SqliteWorkflowStore implements WorkflowStore {
  readonly kind = 'sqlite'
  readonly hints: HintStore
  readonly schedules: ScheduleStore
  readonly admin: AdminStore
  readonly withoutTransactions: string | undefined
  readonly #thread: StoreThread
  readonly #onClose: () => Promise<void>
  readonly #transactor: SqliteTransactor
  readonly #outboxes = new Set<OutboxStore>()
  #clockOffsetMs = 0
  #closed = false

  /** `onClose` decides whether the thread, which others may use as well, is closed with the store. */
  constructor(thread: StoreThread, onClose: () => Promise<void> = () => thread.close()) {
    this.#thread = thread
    this.#onClose = onClose
    this.hints = thread.hub.hintsOf((interest) => this.#call('pendingWork', interest))
    this.schedules = {
      put: (schedule) => this.#call('putSchedule', schedule),
      read: (names) => this.#call('readSchedules', names),
      remove: (name) => this.#call('removeSchedule', name),
      move: (move) => this.#call('moveSchedule', move),
      due: (limit, names) => this.#call('dueSchedules', limit, names),
      fire: (firings) => this.#call('fireSchedules', firings),
      fail: (schedule, error) => this.#call('failSchedule', schedule, error),
      trigger: (schedule, start) => this.#call('triggerSchedule', schedule, start),
    }
    this.admin = sqliteAdminStore((operation, ...args) => this.#call(operation, ...args))
    this.#transactor = new SqliteTransactor(thread)
    this.withoutTransactions = this.#transactor.unable
  }

  async open(): Promise<void> {
    this.#checkOpen('open')
    await this.#thread.open()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#transactor.close()
    await Promise.all([...this.#outboxes].map((outbox) => outbox.close()))
    await this.#onClose()
  }

  /** Moves this store's clock, for tests. Others on the same file keep theirs. */
  advanceClock(ms: number): void {
    this.#clockOffsetMs += ms
  }

  register(registration: RegisterRequest): Promise<Registered> {
    return this.#call('register', registration)
  }

  unregister(runtime: number): Promise<void> {
    return this.#call('unregister', runtime)
  }

  keepLease({ memory, leaseMs, giveUpMs, onHang }: LeaseRequest): LeaseKeeper {
    return this.#thread.keepLease({ memory, leaseMs, giveUpMs, onHang })
  }

  now(): Promise<number> {
    return this.#call('now')
  }

  reserve(count: number): Promise<Iid> {
    return this.#call('reserve', count)
  }

  workflowNumbers(workflows: readonly WorkflowName[]): Promise<readonly number[]> {
    return this.#call('workflowNumbers', workflows)
  }

  start(
    items: readonly StartItem[],
    { runtime }: StartBatchOptions = {},
  ): Promise<readonly Verdict[]> {
    return this.#call('start', items, runtime)
  }

  commit(batch: CommitBatch): Promise<CommitAnswer> {
    return this.#call('commit', packCommit(batch))
  }

  claim(request: ClaimRequest): Promise<ClaimAnswer> {
    return this.#call('claim', request)
  }

  async load(wanted: readonly LoadRequest[]): Promise<readonly Loaded[]> {
    return unpackLoad(await this.#call('load', wanted))
  }

  aboutTo(runtime: number, iid: Iid, epoch: number, doing: string): Promise<boolean> {
    return this.#call('aboutTo', runtime, iid, epoch, doing)
  }

  claimTasks(request: TaskRequest): Promise<TaskAnswer> {
    return this.#call('claimTasks', request)
  }

  finishTasks(runtime: number, results: readonly TaskResult[]): Promise<readonly TaskVerdict[]> {
    return this.#call('finishTasks', runtime, results)
  }

  ownedTasks(runtime: number): Promise<readonly TaskAttempt[]> {
    return this.#call('ownedTasks', runtime)
  }

  beat(runtime: number, beats: readonly Beat[]): Promise<readonly boolean[]> {
    return this.#call('beat', runtime, beats)
  }

  transact(work: Transact): Promise<'done' | 'refused'> {
    return this.#transactor.transact(work, this.#clockOffsetMs)
  }

  within(tx: unknown): StoreInTransaction {
    return withinTransaction(this.#thread, tx, this.#clockOffsetMs)
  }

  send(deliveries: readonly Delivery[]): Promise<void> {
    return this.#call('send', deliveries)
  }

  post(posts: readonly Post[]): Promise<readonly PostAnswer[]> {
    return this.#call('post', posts)
  }

  renewLease(runtime: number, leaseMs: number): Promise<LeaseAnswer> {
    return this.#call('renewLease', runtime, leaseMs)
  }

  tick(request: TickRequest): Promise<TickAnswer> {
    return this.#call('tick', request)
  }

  verify(
    runtime: number,
    copies: readonly CachedInstance[],
  ): Promise<{ readonly server: string; readonly same: readonly boolean[] }> {
    return this.#call('verify', runtime, copies)
  }

  suspend(ids: readonly string[], report: string): Promise<readonly boolean[]> {
    return this.#call('suspend', ids, report)
  }

  resume(ids: readonly string[]): Promise<number> {
    return this.#call('resume', ids)
  }

  terminate(terminations: readonly Termination[]): Promise<Terminated> {
    return this.#call('terminate', terminations)
  }

  remove(ids: readonly string[]): Promise<number> {
    return this.#call('remove', ids)
  }

  removeExpired(): Promise<boolean> {
    return this.#call('removeExpired')
  }

  import(item: ImportItem): Promise<Verdict> {
    return this.#call('import', item)
  }

  setLimitKeys(keys: readonly { readonly iid: Iid; readonly key: string }[]): Promise<void> {
    return this.#call('setLimitKeys', keys)
  }

  owned(runtime: number): Promise<readonly Claim[]> {
    return this.#call('owned', runtime)
  }

  find(ids: readonly string[]): Promise<readonly (InstanceRow | undefined)[]> {
    return this.#call('find', ids)
  }

  look(iids: readonly Iid[]): Promise<readonly (InstanceRow | undefined)[]> {
    return this.#call('look', iids)
  }

  whereabouts(iid: Iid): Promise<Whereabouts> {
    return this.#call('whereabouts', iid)
  }

  async history(iid: Iid, execution: number, page?: HistoryPage): Promise<readonly TurnRow[]> {
    return unpackTurns(await this.#call('history', iid, execution, page))
  }

  readState(
    wanted: readonly { readonly id: string; readonly key: string }[],
  ): Promise<readonly (string | undefined)[]> {
    return this.#call('readState', wanted)
  }

  outbox(prefix: string): OutboxStore {
    this.#checkOpen('outbox')
    const outbox = new SqliteOutboxStore(
      prefix,
      this.#thread,
      () => this.#clockOffsetMs,
      () => this.#outboxes.delete(outbox),
    )
    this.#outboxes.add(outbox)
    return outbox
  }

  replies(to: readonly string[]): Promise<readonly (string | undefined)[]> {
    return this.#call('replies', to)
  }

  async #call<Name extends OperationName>(
    operation: Name,
    ...args: ArgsOf<Name>
  ): Promise<ResultOf<Name>> {
    this.#checkOpen(operation)
    return this.#thread.call(operation, args, this.#clockOffsetMs)
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new StoreError('closed', `sqlite ${operation}`, 'the store was closed')
  }
}
