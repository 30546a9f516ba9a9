import type { Abortable } from '../../base/sync/on-abort.ts'
import { AGAIN, Batcher } from '../../base/sync/batcher.ts'
import { uuidMaker } from './ids.ts'
import type { StartItem, TurnRow, Verdict } from '../../store/commits.ts'
import type { Announcement } from '../../store/hints.ts'
import type { Iid, InstanceRow, WorkflowName } from '../../store/instances.ts'
import { bytesOfStart, MAX_CALL_BYTES } from '../../store/sizes.ts'
import { isRejected, StoreError } from '../../store/store-error.ts'
import { Blocked } from '../core/blocked.ts'
import { momentAfter } from '../core/moments.ts'
import { NotFoundError } from '../core/errors.ts'
import { IidPool } from '../core/iid-pool.ts'
import { ClientListener } from './client-listener.ts'
import type { ChangeFeed, ClientSetup } from '../core/local-runtime.ts'
import { Posts } from '../core/posts.ts'
import { Waits } from './waits.ts'

/** Reads rows and history to explain an answer of the store. */
export interface Past {
  find(id: string): Promise<InstanceRow | undefined>
  history(iid: Iid, execution: number): Promise<readonly TurnRow[]>
}

/** A start, and the signal that withdraws it. */
interface Starting {
  readonly item: StartItem
  readonly signal: Abortable | undefined
}

/** What all methods of a client share. It batches single calls into calls of the store. */
export class ClientCore implements Past {
  readonly setup: ClientSetup
  readonly iids: IidPool
  readonly posts: Posts
  readonly newId: () => string
  readonly waits: Waits
  readonly #starts: Batcher<Starting, { readonly verdict: Verdict | Promise<Verdict> }>
  readonly #blocked: Blocked<StartItem, Verdict>
  readonly #looks: Batcher<Iid, InstanceRow | undefined>
  readonly #finds: Batcher<string, InstanceRow | undefined>
  readonly #replies: Batcher<string, string | undefined>
  readonly #numbers = new Map<string, Promise<number>>()
  readonly #listener: ClientListener | undefined
  readonly #users = new Set<() => Promise<void>>()
  #opened: Promise<void> | undefined

  constructor(setup: ClientSetup) {
    const { store, clock, log, runtime } = setup
    this.setup = setup
    this.waits = new Waits(clock)
    this.#listener = runtime ? undefined : new ClientListener({ clock, log, hints: store.hints })
    this.iids = runtime?.iids ?? new IidPool(store)
    this.posts = new Posts({ store, clock, log, runtime, announce: (one) => this.announce(one) })
    this.newId = setup.newUuid ?? uuidMaker(() => setup.clock.date().getTime())
    this.#starts = new Batcher((items) => this.#startAll(items), {
      maxBytes: MAX_CALL_BYTES,
      bytesOf: ({ item }) => bytesOfStart(item),
      splitsOn: isRejected,
    })
    this.#blocked = new Blocked(
      {
        clock,
        log,
        what: 'start',
        random: Math.random,
        idOf: ({ id }) => id,
        bytesOf: bytesOfStart,
        send: (items) => store.start(items, { wereLocked: true }),
        isLocked: (verdict) => verdict === 'locked',
        isUntried: (verdict) => verdict === 'untried',
      },
      MAX_CALL_BYTES,
    )
    this.#looks = new Batcher((iids) => store.look(iids))
    this.#finds = new Batcher((ids) => store.find(ids))
    this.#replies = new Batcher((to) => store.replies(to))
    // After a failover, the server may have lost numbers that it gave out, and give them out again.
    store.onPromotion?.(() => {
      this.iids.forget()
      this.#numbers.clear()
    })
  }

  /** Connects to the store, once. */
  open(): Promise<void> {
    if (this.#opened === undefined) {
      this.#opened = this.setup.store.open(this.setup)
      // After a failure, the next call tries again.
      this.#opened.catch(() => (this.#opened = undefined))
    }
    return this.#opened
  }

  /** Changes of instances that other processes have in memory. */
  get changes(): ChangeFeed {
    return this.#listener ?? this.setup.runtime!.changes
  }

  /** Notifies other processes of what was done here. */
  announce(announcement: Announcement): void {
    if (this.#listener !== undefined) this.#listener.announce(announcement)
    else this.setup.runtime!.announce(announcement)
  }

  /** Notifies everything that waits for instances, because this client has changed them. */
  changed(iids: readonly Iid[]): void {
    if (iids.length === 0) return
    for (const iid of iids) this.changes.changed(iid)
    this.announce({ kind: 'recalled', iids })
  }

  /** The same, where the runtimes that have them in memory must drop them. */
  recalled(iids: readonly Iid[]): void {
    if (iids.length > 0) this.setup.runtime?.recall(iids)
    this.changed(iids)
  }

  /** Ends a user of the same connections before they are closed. Call the result to unregister it. */
  beforeClose(end: () => Promise<void>): () => void {
    this.#users.add(end)
    return () => void this.#users.delete(end)
  }

  /** Ends those that use the connections, such as an outbox. A failure of one does not affect the others. */
  async endUsers(): Promise<void> {
    await Promise.allSettled([...this.#users].map((end) => end()))
  }

  /** Rejects all waits and closes all connections. */
  async close(): Promise<void> {
    await this.endUsers()
    this.waits.close()
    const closed = new StoreError('closed', 'client', 'the client was closed')
    this.#blocked.close(closed)
    this.posts.close(closed)
    await this.#listener?.close()
    await this.setup.store.close()
  }

  /** Starts an instance. Waits while another transaction has locked its id. */
  async start(item: StartItem, signal?: Abortable): Promise<Verdict> {
    const { verdict } = await this.#starts.call({ item, signal })
    return verdict
  }

  async #startAll(
    starts: readonly Starting[],
  ): Promise<readonly ({ readonly verdict: Verdict | Promise<Verdict> } | typeof AGAIN)[]> {
    const free = starts.filter(({ item }) => !this.#blocked.has(item.id))
    const verdicts =
      free.length === 0 ? [] : await this.setup.store.start(free.map(({ item }) => item))
    const byStart = new Map(free.map((start, i) => [start, verdicts[i]!]))
    return starts.map((start) => {
      const verdict = byStart.get(start) ?? 'locked'
      if (verdict === 'untried') return AGAIN
      if (verdict !== 'locked') return { verdict }
      return { verdict: this.#blocked.wait(start.item, start.signal) }
    })
  }

  /** The time `delayMs` from now by the store's clock; 0 for now. */
  async momentAfter(delayMs: number): Promise<number> {
    if (delayMs === 0) return 0
    const { runtime, store } = this.setup
    return momentAfter(runtime?.storeNow() ?? (await store.now()), delayMs)
  }

  /** Finds an instance by number. Checks the id, as another may have the number after a failover. */
  async look({ id, iid }: Pick<InstanceRow, 'id' | 'iid'>): Promise<InstanceRow | undefined> {
    const row = await this.#looks.call(iid)
    return row?.id === id ? row : undefined
  }

  /** Finds an instance by id, even an `unstarted` one. */
  async find(id: string): Promise<InstanceRow | undefined> {
    await this.open()
    return this.#finds.call(id)
  }

  history(iid: Iid, execution: number): Promise<readonly TurnRow[]> {
    return this.setup.store.history(iid, execution)
  }

  /** Finds an instance that was started. Throws a `NotFoundError` when there is none. */
  async existing(verb: string, id: string): Promise<InstanceRow> {
    const row = await this.find(id)
    if (row !== undefined && row.status !== 'unstarted') return row
    throw noInstance(verb, id)
  }

  reply(address: string): Promise<string | undefined> {
    return this.#replies.call(address)
  }

  /** The number of a workflow in the store. */
  workflowNumber({ name, version }: WorkflowName): Promise<number> {
    const key = `${name} ${version}`
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.setup.store.workflowNumbers([{ name, version }]).then(([first]) => first!)
      // After a failure, the next call asks again.
      number.catch(() => this.#numbers.delete(key))
      this.#numbers.set(key, number)
    }
    return number
  }
}

/** The error for an id that no instance has. */
export function noInstance(verb: string, id: string): NotFoundError {
  return new NotFoundError(`${verb}: there is no instance "${id}"`, id)
}

/** The error for an instance that disappeared during a call. */
export function removedInstance(verb: string, id: string): NotFoundError {
  return new NotFoundError(
    `${verb}: instance "${id}" was removed, or lost in a database failover`,
    id,
  )
}

/** Whether an instance has ended. */
export function hasEnded({ finishedAt }: InstanceRow): boolean {
  return finishedAt !== null
}
