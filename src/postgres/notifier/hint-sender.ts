// Sends the hints of a store.
//
//   B1. The first is sent at once. Those that follow within a millisecond, or while a call is in
//       flight, are batched: however much happens, the server is called at most once a millisecond.
//   B2. A call that fails is not repeated: a lost hint costs time, never work. But notifications to
//       this process may fail for the same reason, such as a full notification queue, so the notifier
//       tests whether they arrive.
//   B3. A runtime that just learned that there is no other one sends no hints for a while: nobody would
//       receive them. A runtime that joins announces itself, and is asked to poll if a hint was
//       withheld just then.

import type { Clock } from '../../base/time/clock.ts'
import { Throttle } from '../../base/time/throttle.ts'
import type { Announcement, Teller, TaskCount } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { type Letter, lettersFor, type PlainNews } from './payload.ts'

const PAUSE_MS = 1
const ALONE_MS = 10_000
// A runtime that joins polls for everything: that finds what was withheld before.
const KEPT_BACK_MS = 1_000
// The shortest time between two requests to poll, however many runtimes join.
const JOIN_MS = 250
// The shortest time between two requests to poll, however often something becomes free.
const FREED_MS = 100

/** The hints of one call. */
export interface Parcel {
  readonly teller: Teller
  readonly mail: readonly Iid[]
  readonly due: readonly Iid[]
  readonly tasks: readonly TaskCount[]
  readonly letters: readonly Letter[]
}

/** What the sender needs. */
export interface SenderSetup {
  readonly clock: Clock
  /** Sends the hints; resolves to whether there are other live runtimes. */
  send(parcel: Parcel): Promise<boolean>
  /** The listener of this store that others can reply to; empty for none. */
  listener(): string
  /** A call failed, and its hints are lost. */
  lost(): void
  /** Whether an announcement of a runtime that joins would arrive here. */
  hears(): boolean
}

/** Batches hints and sends them. */
export class HintSender {
  readonly #setup: SenderSetup
  readonly #joins: Throttle
  readonly #frees: Throttle
  readonly #mail = new Set<Iid>()
  readonly #due = new Set<Iid>()
  readonly #tasks = new Map<string, TaskCount>()
  /** Instances that have changed, by the listener that waits for them. */
  readonly #changed = new Map<string, Set<Iid>>()
  #letters: Letter[] = []
  #teller: Teller = { runtime: 0, hasRoom: false }
  #sending: Promise<void> | undefined
  #sentMs = -Infinity
  #aloneUntilMs = -Infinity
  #keptBackMs = -Infinity

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#joins = new Throttle(setup.clock, () => this.#afterJoin())
    this.#frees = new Throttle(setup.clock, () => this.#tellFreed())
  }

  tell(news: Announcement, teller: Teller): void {
    this.#teller = teller
    if (news.kind !== 'waiting' && news.kind !== 'changed' && this.#isAlone()) {
      this.#keptBackMs = this.#setup.clock.now()
      return
    }
    switch (news.kind) {
      case 'mail':
        for (const iid of news.iids) this.#mail.add(iid)
        break
      case 'due':
        for (const iid of news.iids) this.#due.add(iid)
        break
      case 'tasks':
        for (const told of news.activities) this.#addTasks(told)
        break
      case 'changed':
        this.#addChanged(news.to, news.iids)
        break
      case 'freed':
        return this.#frees.request(FREED_MS)
      case 'dropped':
      case 'overflow':
      case 'recalled':
      case 'waiting':
        this.#write(news)
    }
    this.#start()
  }

  /** A runtime has announced that it listens. */
  joined(): void {
    this.#joins.request(JOIN_MS)
  }

  #afterJoin(): void {
    this.#aloneUntilMs = -Infinity
    if (this.#setup.clock.now() - this.#keptBackMs > KEPT_BACK_MS) return
    this.#tellFreed()
  }

  #tellFreed(): void {
    this.#write({ kind: 'freed' })
    this.#start()
  }

  /** Resolves when all hints so far are sent, or lost. */
  async drain(): Promise<void> {
    this.#frees.flush()
    await this.#sending
  }

  #isAlone(): boolean {
    return this.#setup.hears() && this.#setup.clock.now() < this.#aloneUntilMs
  }

  #addTasks({ activity, count, pinned }: TaskCount): void {
    const key = `${pinned ? 1 : 0}${activity}`
    const before = this.#tasks.get(key)?.count ?? 0
    this.#tasks.set(key, { activity, count: before + count, pinned })
  }

  #addChanged(to: string, iids: readonly Iid[]): void {
    const changed = this.#changed.get(to) ?? new Set()
    this.#changed.set(to, changed)
    for (const iid of iids) changed.add(iid)
  }

  #write(news: PlainNews): void {
    this.#letters.push(...lettersFor(news, this.#setup.listener()))
  }

  #start(): void {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined))
  }

  async #send(): Promise<void> {
    const { clock } = this.#setup
    // After the caller has added all its hints.
    await Promise.resolve()
    while (this.#hasNews()) {
      const pauseMs = this.#sentMs + PAUSE_MS - clock.now()
      if (pauseMs > 0) await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
      this.#sentMs = clock.now()
      const parcel = this.#pack()
      try {
        const others = await this.#setup.send(parcel)
        const isAlone = !others && parcel.teller.runtime !== 0
        this.#aloneUntilMs = isAlone ? clock.now() + ALONE_MS : -Infinity
      } catch {
        // See B2.
        this.#setup.lost()
      }
    }
  }

  #hasNews(): boolean {
    const gathered = [this.#mail, this.#due, this.#tasks, this.#changed]
    return this.#letters.length > 0 || gathered.some(({ size }) => size > 0)
  }

  #pack(): Parcel {
    for (const [to, iids] of this.#changed) this.#write({ kind: 'changed', to, iids: [...iids] })
    const parcel = {
      teller: this.#teller,
      mail: [...this.#mail],
      due: [...this.#due],
      tasks: [...this.#tasks.values()],
      letters: this.#letters,
    }
    this.#mail.clear()
    this.#due.clear()
    this.#tasks.clear()
    this.#changed.clear()
    this.#letters = []
    return parcel
  }
}
