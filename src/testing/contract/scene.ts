import type { Claim, ClaimAnswer, Loaded } from '../../store/claims.ts'
import type {
  CommitAnswer,
  CommitBatch,
  StartItem,
  TurnItem,
  TurnRow,
  Verdict,
} from '../../store/commits.ts'
import type { Delivery, InboxRow, Post, PostAnswer, PostVerdict } from '../../store/inbox.ts'
import type { Ending, Iid, InstanceRow, ParentLink } from '../../store/instances.ts'
import type { LeaseAnswer, Registered, TickAnswer, TickRequest } from '../../store/runtimes.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { RowCounts, StoreUnderTest, TestRunner } from './store-under-test.ts'

// What the tests of the suite are written with: runtimes that act on a store, and short ways to make
// items.

/** What each topic of the suite is given. */
export interface Contract extends TestRunner {
  /** A fresh store for one test. */
  readonly open: () => Promise<Scene>
}

/**
 * How long a lease lasts here. The clock moves only when a test moves it, and a little by itself.
 */
export const LEASE_MS = 30_000

/** Long after every lease. */
export const PAST_LEASE_MS = LEASE_MS + 1_000

/** A store under test, with its runtimes and clients. */
export class Scene implements AsyncDisposable {
  readonly under: StoreUnderTest
  readonly store: WorkflowStore

  constructor(under: StoreUnderTest) {
    this.under = under
    this.store = under.store
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.under[Symbol.asyncDispose]()
  }

  /** A new runtime; by default on the first connection, with the workflow `order`. */
  async runtime({
    store = this.store,
    workflows = ['order'],
  }: { store?: WorkflowStore; workflows?: readonly string[] } = {}): Promise<Actor> {
    const registered = await store.register({
      leaseMs: LEASE_MS,
      workflows: workflows.map((name) => ({ name, version: '1' })),
      info: 'contract suite',
    })
    return new Actor(store, registered)
  }

  /** A runtime on a connection of its own. */
  async otherRuntime(workflows?: readonly string[]): Promise<Actor> {
    const store = await this.under.another()
    return this.runtime({ store, ...(workflows && { workflows }) })
  }

  /** Starts instances without an owner, and returns their numbers. */
  async sleeping(workflow: number, wakeAts: readonly (number | null)[]): Promise<Iid[]> {
    const first = await this.store.reserve(wakeAts.length)
    const items = wakeAts.map((wakeAt, i) =>
      startItem(first + i, { workflow, owned: false, wakeAt }),
    )
    const verdicts = await this.store.start(items)
    return items.filter((_, i) => verdicts[i] === 'done').map(({ iid }) => iid)
  }

  /** Ends the lease of `victim`; `taker` notices that and claims what was freed. */
  async takeOver(victim: Actor, taker: Actor): Promise<readonly Claim[]> {
    await this.under.kill(victim.runtime)
    await taker.tick()
    return (await taker.claim()).claims
  }

  async load(iid: Iid, after = 0): Promise<Loaded> {
    const [loaded] = await this.store.load([{ iid, after }])
    if (loaded === undefined) throw new Error(`there is no instance ${iid}`)
    return inOrder(loaded)
  }

  /** The numbers of its turns. */
  async turnsOf(iid: Iid): Promise<number[]> {
    return (await this.load(iid)).history.map(({ turn }) => turn)
  }

  async inboxOf(iid: Iid): Promise<readonly InboxRow[]> {
    return (await this.load(iid)).inbox
  }

  async look(iid: Iid): Promise<InstanceRow> {
    const [row] = await this.store.look([iid])
    if (row === undefined) throw new Error(`there is no instance ${iid}`)
    return row
  }

  /** What waits for it, without the numbers of the rows. */
  async contentsOf(iid: Iid): Promise<Omit<InboxRow, 'id'>[]> {
    return (await this.inboxOf(iid)).map(
      ({ kind, execution, command, name, replyTo, payload, parked }) => ({
        kind,
        execution,
        command,
        name,
        replyTo,
        payload,
        parked,
      }),
    )
  }

  /** What waits for it, each as its kind and its payload. */
  async waitingFor(iid: Iid): Promise<string[]> {
    return (await this.inboxOf(iid)).map(({ kind, payload }) => `${kind}: ${payload}`)
  }

  /** Posts, and returns the verdicts. */
  async post(...posts: readonly Post[]): Promise<PostVerdict[]> {
    return (await postTo(this.store, posts)).map(({ verdict }) => verdict)
  }

  /** Values that an instance keeps. */
  stateOf(iid: Iid, ...keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    return this.store.readState(keys.map((key) => ({ id: idOf(iid), key })))
  }

  /** All that can be seen of instances and their owners, to show that nothing changed. */
  async state(iids: readonly Iid[], actors: readonly Actor[]): Promise<SceneState> {
    return {
      loaded: (await this.store.load(iids.map((iid) => ({ iid, after: 0 })))).map(inOrder),
      rows: await this.store.look(iids),
      counts: await inTurn(iids, (iid) => this.under.rows(iid)),
      attempts: await inTurn(iids, (iid) => this.under.attempts(iid)),
      owned: await inTurn(actors, ({ runtime }) => this.store.owned(runtime)),
    }
  }

  /** The store's time, from a runtime that affects no other. */
  clock(): Promise<number> {
    return this.store.now()
  }
}

/** What `Scene.state` sees. */
export interface SceneState {
  readonly loaded: readonly Loaded[]
  readonly rows: readonly (InstanceRow | undefined)[]
  readonly counts: readonly RowCounts[]
  readonly attempts: readonly (number | undefined)[]
  readonly owned: readonly (readonly Claim[])[]
}

/** A registered runtime, as a test leads it. */
export class Actor {
  readonly store: WorkflowStore
  readonly runtime: number
  readonly server: string
  readonly workflows: readonly number[]

  constructor(store: WorkflowStore, { runtime, server, workflows }: Registered) {
    this.store = store
    this.runtime = runtime
    this.server = server
    this.workflows = workflows
  }

  batch({
    starts = [],
    turns = [],
  }: {
    starts?: readonly StartItem[]
    turns?: readonly TurnItem[]
  }): CommitBatch {
    return { runtime: this.runtime, server: this.server, starts, turns }
  }

  commit(items: Parameters<Actor['batch']>[0]): Promise<CommitAnswer> {
    return this.store.commit(this.batch(items))
  }

  /** Commits turns and returns the verdicts; throws when the batch was not judged. */
  async turns(...turns: readonly TurnItem[]): Promise<readonly Verdict[]> {
    return judged(await this.commit({ turns })).turns
  }

  /** Commits starts and returns the verdicts; throws when the batch was not judged. */
  async starts(...starts: readonly StartItem[]): Promise<readonly Verdict[]> {
    return judged(await this.commit({ starts })).starts
  }

  /** Starts `count` instances of its first workflow that it owns. */
  async own(count = 1): Promise<Iid[]> {
    const iids = await this.reserve(count)
    await this.starts(...iids.map((iid) => this.startItem(iid)))
    return iids
  }

  async ownOne(): Promise<Iid> {
    const [iid] = await this.own()
    return iid!
  }

  /** Starts instances that it owns, each with such a link. */
  async ownChildren(...links: readonly ParentLink[]): Promise<Iid[]> {
    const iids = await this.reserve(links.length)
    await this.starts(...iids.map((iid, i) => this.startItem(iid, { parent: links[i]! })))
    return iids
  }

  async reserve(count: number): Promise<Iid[]> {
    const first = await this.store.reserve(count)
    return Array.from({ length: count }, (_, i) => first + i)
  }

  /** A start of its first workflow, owned by default. */
  startItem(iid: Iid, given: Partial<StartItem> = {}): StartItem {
    return startItem(iid, { workflow: this.workflows[0]!, ...given })
  }

  claim({
    limit = 1_000,
    hinted = [],
    workflows = this.workflows,
  }: {
    limit?: number
    hinted?: readonly Iid[]
    workflows?: readonly number[]
  } = {}): Promise<ClaimAnswer> {
    return this.store.claim({ runtime: this.runtime, workflows, limit, hinted })
  }

  /** Claims, and returns the numbers only. */
  async claimed(options?: Parameters<Actor['claim']>[0]): Promise<Iid[]> {
    return (await this.claim(options)).claims.map(({ iid }) => iid)
  }

  tick(
    workflows = this.workflows,
    given: Partial<Pick<TickRequest, 'tasks' | 'unknown' | 'ownedTasks' | 'idle'>> = {},
  ): Promise<TickAnswer> {
    return this.store.tick({ ...tickRequest(this.runtime, workflows), ...given })
  }

  /** Renews its lease. */
  renew(): Promise<LeaseAnswer> {
    return this.store.renewLease(this.runtime, LEASE_MS)
  }

  /** A tick, together with how many instances the store says that it owns. */
  async tickAndCount(): Promise<TickAnswer & { readonly owned: number }> {
    const answer = await this.tick()
    return { ...answer, owned: (await this.store.owned(this.runtime)).length }
  }
}

/** A title that carries several of the contract's names, each in brackets. */
export function named(title: string, ...names: readonly `[${string}]`[]): string {
  return [title, ...names].join(' ')
}

/** What a runtime says that is neither idle nor busy with tasks. */
export function tickRequest(runtime: number, workflows: readonly number[]): TickRequest {
  return { runtime, workflows, tasks: null, unknown: [], ownedTasks: [], idle: false }
}

/** A turn of the first execution, with one event that names it. */
export function turnRow(turn: number, given: Partial<TurnRow> = {}): TurnRow {
  const events = `event ${turn}`
  return { execution: 1, turn, at: 1_000 + turn, first: turn, count: 1, events, ...given }
}

/** The id of an instance that was given no other. */
export function idOf(iid: Iid): string {
  return `instance-${iid}`
}

/** A start that its sender owns by default. */
export function startItem(
  iid: Iid,
  given: Partial<StartItem> & Pick<StartItem, 'workflow'>,
): StartItem {
  return {
    iid,
    id: idOf(iid),
    owned: true,
    wakeAt: null,
    turn: turnRow(1),
    end: null,
    parent: null,
    labels: '{}',
    messages: [],
    effects: null,
    ...given,
  }
}

/** What an owner at epoch 1 writes; by default it appends nothing and keeps the instance. */
export function turnItem(iid: Iid, given: Partial<TurnItem> = {}): TurnItem {
  return { iid, epoch: 1, turn: null, taken: [], effects: null, next: { kind: 'keep' }, ...given }
}

/** A result of a command of the first execution. */
export function result(iid: Iid, command: number, payload = `result ${command}`): Delivery {
  return { iid, kind: 'completed', execution: 1, command, payload }
}

/** Posts, with a number of its own for each message that brings none. */
export async function postTo(
  store: WorkflowStore,
  posts: readonly Post[],
): Promise<readonly PostAnswer[]> {
  let iid = await store.reserve(posts.length + 1)
  const numbered = posts.map((post) =>
    post.kind === 'message' && post.iid === 0 ? { ...post, iid: iid++ } : post,
  )
  const answers = [...(await store.post(numbered))]
  // Two calls that send to the same ids at once may meet each other's locks. On a busy machine, waiting
  // for them may leave no time for the others.
  for (;;) {
    const locked = numbered.filter((_, i) => isUnsent(answers[i]!))
    if (locked.length === 0) return answers
    const again = await store.post(locked, { wereLocked: true })
    for (const [k, post] of locked.entries()) answers[numbered.indexOf(post)] = again[k]!
  }
}

function isUnsent({ verdict }: PostAnswer): boolean {
  return verdict === 'locked' || verdict === 'untried'
}

/** An ending. */
export function ending(output = '"done"', status: Ending['status'] = 'completed'): Ending {
  return { status, output }
}

/** With its tasks in the order of their commands, which the store need not keep. */
function inOrder(loaded: Loaded): Loaded {
  return { ...loaded, tasks: loaded.tasks.toSorted((a, b) => a.command - b.command) }
}

/** Numbers in order, for comparing sets. */
export function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].toSorted((a, b) => a - b)
}

/** The answer of a batch that was judged. */
export function judged(answer: CommitAnswer): Extract<CommitAnswer, { state: 'ok' }> {
  if (answer.state !== 'ok') throw new Error(`the batch was answered with "${answer.state}"`)
  return answer
}

/** The answer of a tick of one that is alive. */
export function alive(answer: TickAnswer): Extract<TickAnswer, { state: 'ok' }> {
  if (answer.state !== 'ok') throw new Error('the tick was answered with "dead"')
  return answer
}

/** Does something for each, one after the other. */
export async function inTurn<T, R>(
  items: Iterable<T>,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** The error a promise is rejected with; throws when it is not. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it was expected to fail, and did not')
}
