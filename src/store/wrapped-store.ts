// A workflow store whose values are compressed, encrypted, or otherwise transformed on their way in and
// out. The engine on one side sees plain text, also when it compares what the code does with history;
// the database on the other sees only what the transforms make of it. Ids, names, labels, keys of
// state, versions, times and counts pass as they are, because the store looks for them.

import type { ImportItem, Terminated, Termination } from './admin.ts'
import type { AdminStore } from './admin-store.ts'
import type {
  CachedInstance,
  Claim,
  ClaimAnswer,
  ClaimRequest,
  Loaded,
  LoadRequest,
} from './claims.ts'
import type {
  CommitAnswer,
  CommitBatch,
  StartBatchOptions,
  StartItem,
  HistoryPage,
  TurnRow,
  Verdict,
} from './commits.ts'
import type { HintStore } from './hints.ts'
import type { Delivery, Post, PostAnswer, PostBatchOptions } from './inbox.ts'
import type { Iid, InstanceRow, WorkflowName } from './instances.ts'
import type {
  LeaseAnswer,
  Registered,
  RegisterRequest,
  TickAnswer,
  TickRequest,
} from './runtimes.ts'
import type { ScheduleRow, ScheduleStore } from './schedules.ts'
import { StoreError } from './store-error.ts'
import type {
  Beat,
  TaskAnswer,
  TaskAttempt,
  TaskRequest,
  TaskResult,
  TaskVerdict,
} from './tasks.ts'
import type { StoreInTransaction, Transact } from './transactions.ts'
import type { Whereabouts } from './whereabouts.ts'
import type { WorkflowStore } from './workflow-store.ts'
import { type ItemWrapper, replyTo, REPORT, RESULT, stateOf, templateOf } from './wrapped-items.ts'

/** A store behind a chain of transforms. */
export class WrappedStore implements WorkflowStore {
  readonly kind: string
  readonly admin: AdminStore
  readonly keepLease?: NonNullable<WorkflowStore['keepLease']>
  readonly onPromotion?: NonNullable<WorkflowStore['onPromotion']>
  readonly outbox?: NonNullable<WorkflowStore['outbox']>
  readonly #store: WorkflowStore
  readonly #items: ItemWrapper

  constructor(store: WorkflowStore, items: ItemWrapper) {
    this.kind = store.kind
    this.#store = store
    this.#items = items
    // Of what searches and figures return, only the errors of tasks are values.
    this.admin = {
      ...store.admin,
      findTasks: async (query, page) =>
        items.unwrapFoundTasks(await store.admin.findTasks(query, page)),
    }
    if (store.keepLease !== undefined) this.keepLease = (request) => store.keepLease!(request)
    if (store.onPromotion !== undefined) this.onPromotion = (told) => store.onPromotion!(told)
    if (store.outbox !== undefined) this.outbox = (prefix) => store.outbox!(prefix)
  }

  get hints(): HintStore | undefined {
    return this.#store.hints
  }

  /** What a schedule starts is a value as well: its input, and the first message. */
  get schedules(): ScheduleStore {
    const items = this.#items
    const { schedules } = this.#store
    const unwrapped = (row: ScheduleRow): ScheduleRow => ({
      ...row,
      template: items.unwrap(row.template, templateOf(row.name)),
    })
    return {
      ...schedules,
      async put(schedule) {
        const { name, template } = schedule
        const [known] = await schedules.read([name])
        // Wrapped again, the same text may look different.
        const isSame = known !== undefined && unwrapped(known).template === template
        const wrap = (): string => items.wrap(template, templateOf(name))
        const stored = isSame ? known.template : storing('schedule', wrap)
        return schedules.put({ ...schedule, template: stored })
      },
      read: async (names) => (await schedules.read(names)).map(unwrapped),
      async due(limit, names) {
        const due = await schedules.due(limit, names)
        return { ...due, schedules: due.schedules.map(unwrapped) }
      },
      fire: (firings) =>
        schedules.fire(
          firings.map((one) => ({ ...one, start: one.start && items.wrapStart(one.start) })),
        ),
      trigger: (schedule, start) => schedules.trigger(schedule, items.wrapStart(start)),
    }
  }

  get withoutTransactions(): string | undefined {
    return this.#store.withoutTransactions
  }

  /** A start as it is stored, for code that writes it without this store. */
  storedStart(item: StartItem): StartItem {
    return this.#items.wrapStart(item)
  }

  // ── What has values ────────────────────────────────────────────────────────────────────────────

  async start(
    items: readonly StartItem[],
    options?: StartBatchOptions,
  ): Promise<readonly Verdict[]> {
    const wrapped = storing('start', () => items.map((item) => this.#items.wrapStart(item)))
    return this.#store.start(wrapped, options)
  }

  async commit(batch: CommitBatch): Promise<CommitAnswer> {
    const wrapped = storing('commit', () => ({
      ...batch,
      starts: batch.starts.map((item) => this.#items.wrapStart(item)),
      turns: batch.turns.map((item) => this.#items.wrapTurn(item)),
    }))
    return this.#store.commit(wrapped)
  }

  async load(wanted: readonly LoadRequest[]): Promise<readonly Loaded[]> {
    const loaded = await this.#store.load(wanted)
    return loaded.map((one) => this.#items.unwrapLoaded(one))
  }

  transact(work: Transact): Promise<'done' | 'refused'> {
    const wrap = (text: string): string => this.#items.wrap(text, RESULT)
    return this.#store.transact({
      ...work,
      code(tx) {
        const result = work.code(tx)
        return typeof result === 'string' ? wrap(result) : result.then(wrap)
      },
    })
  }

  within(tx: unknown, options?: { readonly notify?: boolean }): StoreInTransaction {
    const inside = this.#store.within(tx, options)
    const items = this.#items
    const { reads } = inside
    return {
      ...inside,
      reads: {
        find: async (ids) => unwrapFound(items, await reads.find(ids)),
        history: async (iid, execution) =>
          (await reads.history(iid, execution)).map((row) => items.unwrapRow(iid, row)),
      },
      start: async (starts) =>
        inside.start(storing('start', () => starts.map((item) => items.wrapStart(item)))),
      post: async (posts) =>
        inside.post(storing('post', () => posts.map((post) => items.wrapPost(post)))),
    }
  }

  async send(deliveries: readonly Delivery[]): Promise<void> {
    const wrapped = storing('send', () => deliveries.map((one) => this.#items.wrapDelivery(one)))
    return this.#store.send(wrapped)
  }

  async post(posts: readonly Post[], options?: PostBatchOptions): Promise<readonly PostAnswer[]> {
    const wrapped = storing('post', () => posts.map((post) => this.#items.wrapPost(post)))
    return this.#store.post(wrapped, options)
  }

  async suspend(ids: readonly string[], report: string): Promise<readonly boolean[]> {
    return this.#store.suspend(
      ids,
      storing('suspend', () => this.#items.wrap(report, REPORT)),
    )
  }

  // The last event says only that it was terminated, and its number is for the store to choose.
  async terminate(terminations: readonly Termination[]): Promise<Terminated> {
    const wrapped = storing('terminate', () =>
      terminations.map((one) => ({ ...one, output: this.#items.wrap(one.output, RESULT) })),
    )
    return this.#store.terminate(wrapped)
  }

  async import(item: ImportItem): Promise<Verdict> {
    const { iid, turns, state } = item
    const wrapped = storing('import', () => ({
      ...item,
      turns: turns.map((row) => this.#items.wrapRow(iid, row)),
      state: this.#items.wrapState(state),
    }))
    return this.#store.import(wrapped)
  }

  async find(ids: readonly string[]): Promise<readonly (InstanceRow | undefined)[]> {
    return unwrapFound(this.#items, await this.#store.find(ids))
  }

  async look(iids: readonly Iid[]): Promise<readonly (InstanceRow | undefined)[]> {
    return unwrapFound(this.#items, await this.#store.look(iids))
  }

  async whereabouts(iid: Iid): Promise<Whereabouts> {
    return this.#items.unwrapWhereabouts(await this.#store.whereabouts(iid))
  }

  async history(iid: Iid, execution: number, page?: HistoryPage): Promise<readonly TurnRow[]> {
    const rows = await this.#store.history(iid, execution, page)
    return rows.map((row) => this.#items.unwrapRow(iid, row))
  }

  async readState(
    wanted: readonly { readonly id: string; readonly key: string }[],
  ): Promise<readonly (string | undefined)[]> {
    const values = await this.#store.readState(wanted)
    return values.map((text, i) => text && this.#items.unwrap(text, stateOf(wanted[i]!.key)))
  }

  async replies(to: readonly string[]): Promise<readonly (string | undefined)[]> {
    const payloads = await this.#store.replies(to)
    return payloads.map((text, i) => text && this.#items.unwrap(text, replyTo(to[i]!)))
  }

  async claimTasks(request: TaskRequest): Promise<TaskAnswer> {
    const answer = await this.#store.claimTasks(request)
    return { ...answer, tasks: answer.tasks.map((task) => this.#items.unwrapTask(task)) }
  }

  async finishTasks(
    runtime: number,
    results: readonly TaskResult[],
  ): Promise<readonly TaskVerdict[]> {
    const wrapped = storing('finishTasks', () =>
      results.map((result) => ({ ...result, end: this.#items.wrapTaskEnd(result.end) })),
    )
    return this.#store.finishTasks(runtime, wrapped)
  }

  async beat(runtime: number, beats: readonly Beat[]): Promise<readonly boolean[]> {
    const wrapped = storing('beat', () => beats.map((beat) => this.#items.wrapBeat(beat)))
    return this.#store.beat(runtime, wrapped)
  }

  // ── What has none ──────────────────────────────────────────────────────────────────────────────

  open(around?: Parameters<WorkflowStore['open']>[0]): Promise<void> {
    return this.#store.open(around)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  register(registration: RegisterRequest): Promise<Registered> {
    return this.#store.register(registration)
  }

  unregister(runtime: number): Promise<void> {
    return this.#store.unregister(runtime)
  }

  now(): Promise<number> {
    return this.#store.now()
  }

  reserve(count: number): Promise<Iid> {
    return this.#store.reserve(count)
  }

  workflowNumbers(workflows: readonly WorkflowName[]): Promise<readonly number[]> {
    return this.#store.workflowNumbers(workflows)
  }

  claim(request: ClaimRequest): Promise<ClaimAnswer> {
    return this.#store.claim(request)
  }

  // Keys are compared by the store.
  setLimitKeys(keys: Parameters<WorkflowStore['setLimitKeys']>[0]): Promise<void> {
    return this.#store.setLimitKeys(keys)
  }

  aboutTo(runtime: number, iid: Iid, epoch: number, doing: string): Promise<boolean> {
    return this.#store.aboutTo(runtime, iid, epoch, doing)
  }

  renewLease(runtime: number, leaseMs: number): Promise<LeaseAnswer> {
    return this.#store.renewLease(runtime, leaseMs)
  }

  tick(request: TickRequest): Promise<TickAnswer> {
    return this.#store.tick(request)
  }

  verify(
    runtime: number,
    copies: readonly CachedInstance[],
  ): Promise<{ readonly server: string; readonly same: readonly boolean[] }> {
    return this.#store.verify(runtime, copies)
  }

  resume(ids: readonly string[]): Promise<number> {
    return this.#store.resume(ids)
  }

  remove(ids: readonly string[]): Promise<number> {
    return this.#store.remove(ids)
  }

  removeExpired(): Promise<boolean> {
    return this.#store.removeExpired()
  }

  owned(runtime: number): Promise<readonly Claim[]> {
    return this.#store.owned(runtime)
  }

  ownedTasks(runtime: number): Promise<readonly TaskAttempt[]> {
    return this.#store.ownedTasks(runtime)
  }
}

function unwrapFound(
  items: ItemWrapper,
  rows: readonly (InstanceRow | undefined)[],
): readonly (InstanceRow | undefined)[] {
  return rows.map((row) => row && items.unwrapInstance(row))
}

// Like anything else that cannot be stored: a batch is split until only the item is left that failed.
function storing<T>(operation: string, wrap: () => T): T {
  try {
    return wrap()
  } catch (cause) {
    throw new StoreError('rejected', operation, `the codec failed: ${String(cause)}`, { cause })
  }
}
