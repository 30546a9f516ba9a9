// Hints between stores on one file.
//
//   - Stores that share a thread tell each other by function calls; what they commit does not
//     count as somebody else's.
//   - What others commit is noticed by the thread, which knows nothing of what it was. So everyone
//     who listens asks what there is to do.
//   - Asking takes a small share of the time, however much others commit.

import type { Clock, Timer } from '../../base/time/clock.ts'
import type {
  NotifierHealth,
  Hint,
  HintInterest,
  HintReceiver,
  HintStore,
  Listening,
  Announcement,
} from '../../store/hints.ts'
import type { PendingWork } from '../operations/pending-work.ts'

// Asking may take one part in so many of the time.
const SHARE = 20
// More than this, asking does not cost.
const MAX_COST_MS = 0.25

/** Asks what there is to do for a listener. */
export type AskForNews = (interest: HintInterest) => Promise<PendingWork>

/** What the hub needs of the thread. */
export interface HubThread {
  /** Looks for commits of others until told otherwise; `own` are the runtimes that listen here. */
  watchChanges(own: readonly number[]): void
  unwatchChanges(): void
}

/** Everybody who listens through one thread. */
export class HintHub {
  readonly #thread: HubThread
  readonly #members = new Set<Member>()
  #lastId = 0

  constructor(thread: HubThread) {
    this.#thread = thread
  }

  /** The hints of one store, which asks by itself. */
  hintsOf(ask: AskForNews): HintStore {
    let own: Member | undefined
    return {
      tell: (told) => this.#tell(told, own),
      listen: (listener) => {
        const member = (own = new Member(`${++this.#lastId}`, listener, ask))
        this.#members.add(member)
        this.#watch()
        // Who runs nothing need not know who waits.
        if (listener.interest().runtime !== 0) this.#pass({ kind: 'joined' }, member)
        member.noticed()
        return this.#listening(member)
      },
    }
  }

  /** Somebody else committed something. */
  changed(): void {
    for (const member of this.#members) {
      member.noticed()
      member.hear({ kind: 'changed', iids: [] })
    }
  }

  #listening(member: Member): Listening {
    const isOpen = (): boolean => this.#members.has(member)
    return {
      get hears() {
        return isOpen()
      },
      health: (): NotifierHealth => ({
        state: isOpen() ? 'listening' : 'closed',
        interruptions: 0,
      }),
      refresh: () => this.#watch(),
      close: async () => {
        member.close()
        this.#members.delete(member)
        this.#watch()
      },
    }
  }

  #watch(): void {
    if (this.#members.size === 0) return this.#thread.unwatchChanges()
    const runtimes = [...this.#members].map(({ listener }) => listener.interest().runtime)
    this.#thread.watchChanges(runtimes.filter((runtime) => runtime !== 0))
  }

  #tell(announcement: Announcement, from: Member | undefined): void {
    switch (announcement.kind) {
      case 'mail':
      case 'due':
      case 'tasks':
      case 'freed':
      case 'overflow':
        for (const member of this.#members) if (member !== from) member.noticed()
        return
      case 'waiting':
        if (from !== undefined) this.#pass({ ...announcement, to: from.id }, from)
        return
      case 'changed': {
        const { to, iids } = announcement
        for (const member of this.#members) {
          if (member.id === to) member.hear({ kind: 'changed', iids })
        }
        return
      }
      case 'dropped':
      case 'recalled':
        return this.#pass(announcement, from)
    }
  }

  #pass(hint: Hint, from: Member | undefined): void {
    for (const member of this.#members) if (member !== from) member.hear(hint)
  }
}

/** Somebody who listens, and asks for news when there may be some. */
class Member {
  readonly id: string
  readonly listener: HintReceiver
  readonly #ask: AskForNews
  readonly #clock: Clock
  #isAsking = false
  #asksAgain = false
  #pause: Timer | undefined
  #closed = false

  constructor(id: string, listener: HintReceiver, ask: AskForNews) {
    this.id = id
    this.listener = listener
    this.#ask = ask
    this.#clock = listener.clock
  }

  hear(hint: Hint): void {
    try {
      this.listener.hear(hint)
    } catch (error) {
      this.listener.log.error({ err: error }, 'a hint could not be followed up')
    }
  }

  /** There may be something to do. */
  noticed(): void {
    // Who runs nothing is told of changes, and has nothing to do.
    if (this.#closed || this.listener.interest().runtime === 0) return
    if (this.#isAsking) this.#asksAgain = true
    else void this.#find()
  }

  close(): void {
    this.#closed = true
    this.#pause?.cancel()
  }

  async #find(): Promise<void> {
    this.#isAsking = true
    this.#asksAgain = false
    const begunMs = this.#clock.now()
    try {
      this.#tell(await this.#ask(this.listener.interest()))
    } catch (error) {
      // The tick says so as well, and goes on trying.
      this.listener.log.debug({ err: error }, 'the store could not be asked')
    }
    if (this.#closed) return
    // It may have waited behind commits for long, which says nothing about what asking costs.
    const tookMs = Math.min(this.#clock.now() - begunMs, MAX_COST_MS)
    this.#pause = this.#clock.after(tookMs * (SHARE - 1), () => {
      this.#isAsking = false
      if (this.#asksAgain) void this.#find()
    })
  }

  #tell({ mail, dueAt, tasksAt, dropped }: PendingWork): void {
    if (this.#closed) return
    if (mail.length > 0) this.hear({ kind: 'work', iids: mail, at: 0 })
    if (dueAt !== null) this.hear({ kind: 'work', iids: [], at: dueAt })
    if (dropped.length > 0) this.hear({ kind: 'dropped', tasks: dropped })
    if (tasksAt !== null) this.hear({ kind: 'tasks', activities: [], at: tasksAt })
  }
}
