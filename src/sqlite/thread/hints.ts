// Hints between stores on one file.
//
//   - Stores that share a thread pass hints to each other by function calls. The commits of one do
//     not count as commits of another process.
//   - The thread notices commits of other processes, but not what they contain. So every listener
//     reads its pending work.

import type {
  NotifierHealth,
  Hint,
  HintInterest,
  HintReceiver,
  HintStore,
  HintSubscription,
  Announcement,
} from '../../store/hints.ts'
import type { PendingWork } from '../operations/pending-work.ts'
import { Asking } from './asking.ts'

/** Reads the pending work of a listener. */
export type ReadPendingWork = (interest: HintInterest) => Promise<PendingWork>

/** What the hub needs of the thread. */
export interface HubThread {
  /**
   * Polls for commits of other processes until `unwatchChanges`; `own` are the runtimes that listen
   * here.
   */
  watchChanges(own: readonly number[]): void
  unwatchChanges(): void
}

/** A listener of a thread. */
export interface HubMember {
  /** The runtime that listens; 0 for none. */
  runtime(): number
  /** Another process committed something. */
  changed(): void
  /** It no longer listens. */
  close(): void
}

/** All listeners of one thread. */
export class HintHub {
  readonly #thread: HubThread
  readonly #all = new Set<HubMember>()
  #lastId = 0

  constructor(thread: HubThread) {
    this.#thread = thread
  }

  /** The hints of one store, which reads its pending work itself. */
  hintsOf(ask: ReadPendingWork): HintStore {
    let own: Member | undefined
    return {
      announce: (announcement) => this.#announce(announcement, own),
      listen: (listener) => {
        const member = (own = new Member(`${++this.#lastId}`, listener, ask))
        const listening = this.join(member)
        // A client has no use for what others wait for.
        if (member.runtime() !== 0) this.#pass({ kind: 'joined' }, member)
        member.noticed()
        return listening
      },
    }
  }

  /** Calls a listener when others commit, until it is closed. */
  join(member: HubMember): HintSubscription {
    this.#all.add(member)
    this.#watch()
    const isOpen = (): boolean => this.#all.has(member)
    return {
      get isListening() {
        return isOpen()
      },
      health: (): NotifierHealth => ({
        state: isOpen() ? 'listening' : 'closed',
        interruptions: 0,
      }),
      refresh: () => this.#watch(),
      close: async () => {
        member.close()
        this.#all.delete(member)
        this.#watch()
      },
    }
  }

  /** The current listeners. */
  get members(): readonly HubMember[] {
    return [...this.#all]
  }

  /** Another process committed something. */
  changed(): void {
    for (const member of this.#all) member.changed()
  }

  #watch(): void {
    if (this.#all.size === 0) return this.#thread.unwatchChanges()
    const runtimes = this.members.map((member) => member.runtime())
    this.#thread.watchChanges(runtimes.filter((runtime) => runtime !== 0))
  }

  #ofWorkflows(): readonly Member[] {
    return this.members.filter((member) => member instanceof Member)
  }

  #announce(announcement: Announcement, from: Member | undefined): void {
    switch (announcement.kind) {
      case 'mail':
      case 'due':
      case 'tasks':
      case 'freed':
      case 'overflow':
        for (const member of this.#ofWorkflows()) if (member !== from) member.noticed()
        return
      case 'waiting':
        if (from !== undefined) this.#pass({ ...announcement, to: from.id }, from)
        return
      case 'changed': {
        const { to, iids } = announcement
        for (const member of this.#ofWorkflows()) {
          if (member.id === to) member.receive({ kind: 'changed', iids })
        }
        return
      }
      case 'dropped':
      case 'recalled':
        return this.#pass(announcement, from)
    }
  }

  #pass(hint: Hint, from: Member | undefined): void {
    for (const member of this.#ofWorkflows()) if (member !== from) member.receive(hint)
  }
}

/** A listener. Reads its pending work when there may be some. */
class Member implements HubMember {
  readonly id: string
  readonly listener: HintReceiver
  readonly #asking: Asking

  constructor(id: string, listener: HintReceiver, ask: ReadPendingWork) {
    this.id = id
    this.listener = listener
    this.#asking = new Asking(listener, async () => this.#deliver(await ask(listener.interest())))
  }

  runtime(): number {
    return this.listener.interest().runtime
  }

  changed(): void {
    this.noticed()
    this.receive({ kind: 'changed', iids: [] })
  }

  receive(hint: Hint): void {
    try {
      this.listener.receive(hint)
    } catch (error) {
      this.listener.log.error({ err: error }, 'handling a hint failed')
    }
  }

  /** There may be something to do. */
  noticed(): void {
    // A client gets hints of changes, but has no work of its own.
    if (this.runtime() !== 0) this.#asking.noticed()
  }

  close(): void {
    this.#asking.close()
  }

  #deliver({ mail, dueAt, tasksAt, schedulesAt, dropped }: PendingWork): void {
    if (this.#asking.isClosed) return
    if (mail.length > 0) this.receive({ kind: 'work', iids: mail, at: 0 })
    if (dueAt !== null) this.receive({ kind: 'work', iids: [], at: dueAt })
    if (dropped.length > 0) this.receive({ kind: 'dropped', tasks: dropped })
    if (tasksAt !== null) this.receive({ kind: 'tasks', activities: [], at: tasksAt })
    if (schedulesAt !== null) this.receive({ kind: 'schedules', at: schedulesAt })
  }
}
