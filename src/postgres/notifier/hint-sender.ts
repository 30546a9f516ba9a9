// Sends the hints of a store.
//
//   B1. The first is sent at once. Those that follow within a millisecond, or while a call is in
//       flight, are batched: however much happens, the server is called at most once a millisecond.
//   B2. A call that fails is not repeated: a lost hint costs time, never work. But notifications to
//       this process may fail for the same reason, such as a full notification queue, so the
//       notifier tests whether they arrive.
//   B3. A runtime that has just found that there is no other one sends no hints for a while: no
//       process would receive them. A runtime that joins announces itself, and is asked to poll if
//       a hint was withheld just before.

import type { Clock } from '../../base/time/clock.ts'
import { Throttle } from '../../base/time/throttle.ts'
import type { Announcement, HintOrigin, TaskCount } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { type Notification, notificationsFor, type DirectAnnouncement } from './payload.ts'

const PAUSE_MS = 1
const ALONE_MS = 10_000
// A runtime that joins polls for everything: that finds what was withheld before.
const WITHHELD_MS = 1_000
// The shortest time between two requests to poll, however many runtimes join.
const JOIN_MS = 250
// The shortest time between two requests to poll, however often something becomes free.
const FREED_MS = 100

/** The hints of one call. */
export interface HintBatch {
  readonly origin: HintOrigin
  readonly mail: readonly Iid[]
  readonly due: readonly Iid[]
  readonly tasks: readonly TaskCount[]
  readonly notifications: readonly Notification[]
}

/** What the sender needs. */
export interface SenderSetup {
  readonly clock: Clock
  /** Sends the hints; resolves to whether there are other live runtimes. */
  send(batch: HintBatch): Promise<boolean>
  /** The listener of this store that others can reply to; empty for none. */
  listener(): string
  /** A call failed, and its hints are lost. */
  lost(): void
  /** Whether an announcement of a runtime that joins would arrive here. */
  isListening(): boolean
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
  #notifications: Notification[] = []
  #origin: HintOrigin = { runtime: 0, hasRoom: false }
  #sending: Promise<void> | undefined
  #sentMs = -Infinity
  #aloneUntilMs = -Infinity
  #withheldMs = -Infinity

  constructor(setup: SenderSetup) {
    this.#setup = setup
    this.#joins = new Throttle(setup.clock, () => this.#afterJoin())
    this.#frees = new Throttle(setup.clock, () => this.#sendFreed())
  }

  announce(announcement: Announcement, origin: HintOrigin): void {
    this.#origin = origin
    if (announcement.kind !== 'waiting' && announcement.kind !== 'changed' && this.#isAlone()) {
      this.#withheldMs = this.#setup.clock.now()
      return
    }
    switch (announcement.kind) {
      case 'mail':
        for (const iid of announcement.iids) this.#mail.add(iid)
        break
      case 'due':
        for (const iid of announcement.iids) this.#due.add(iid)
        break
      case 'tasks':
        for (const tasks of announcement.activities) this.#addTasks(tasks)
        break
      case 'changed':
        this.#addChanged(announcement.to, announcement.iids)
        break
      case 'freed':
        return this.#frees.request(FREED_MS)
      case 'dropped':
      case 'overflow':
      case 'recalled':
      case 'waiting':
        this.#add(announcement)
    }
    this.#start()
  }

  /** A runtime has announced that it listens. */
  joined(): void {
    this.#joins.request(JOIN_MS)
  }

  #afterJoin(): void {
    this.#aloneUntilMs = -Infinity
    if (this.#setup.clock.now() - this.#withheldMs > WITHHELD_MS) return
    this.#sendFreed()
  }

  #sendFreed(): void {
    this.#add({ kind: 'freed' })
    this.#start()
  }

  /** Resolves when all hints so far are sent, or lost. */
  async drain(): Promise<void> {
    this.#frees.flush()
    await this.#sending
  }

  #isAlone(): boolean {
    return this.#setup.isListening() && this.#setup.clock.now() < this.#aloneUntilMs
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

  #add(announcement: DirectAnnouncement): void {
    this.#notifications.push(...notificationsFor(announcement, this.#setup.listener()))
  }

  #start(): void {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined))
  }

  async #send(): Promise<void> {
    const { clock } = this.#setup
    // After the caller has added all its hints.
    await Promise.resolve()
    while (this.#hasHints()) {
      const pauseMs = this.#sentMs + PAUSE_MS - clock.now()
      if (pauseMs > 0) await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
      this.#sentMs = clock.now()
      const batch = this.#takeBatch()
      try {
        const others = await this.#setup.send(batch)
        const isAlone = !others && batch.origin.runtime !== 0
        this.#aloneUntilMs = isAlone ? clock.now() + ALONE_MS : -Infinity
      } catch {
        // See B2.
        this.#setup.lost()
      }
    }
  }

  #hasHints(): boolean {
    const gathered = [this.#mail, this.#due, this.#tasks, this.#changed]
    return this.#notifications.length > 0 || gathered.some(({ size }) => size > 0)
  }

  #takeBatch(): HintBatch {
    for (const [to, iids] of this.#changed) this.#add({ kind: 'changed', to, iids: [...iids] })
    const batch = {
      origin: this.#origin,
      mail: [...this.#mail],
      due: [...this.#due],
      tasks: [...this.#tasks.values()],
      notifications: this.#notifications,
    }
    this.#mail.clear()
    this.#due.clear()
    this.#tasks.clear()
    this.#changed.clear()
    this.#notifications = []
    return batch
  }
}
