// Hints about the messages of an outbox.
//
//   - Stores that share a thread pass hints to each other by function calls.
//   - The hub notices commits of other processes, but not what they contain. So every listener reads which
//     partitions have messages, and gets hints of those only. It only reads: a write, such as a tick, would
//     make the other process look as well, which would write in turn.

import type { HintSubscription } from '../../store/hints.ts'
import type { OutboxListener } from '../../store/outbox-store.ts'
import type { OutboxOutlook } from '../outbox/outlook.ts'
import { Asking } from './asking.ts'
import type { HintHub, HubMember } from './hints.ts'

/** Asks what there is to deliver. */
export type AskForMessages = () => Promise<OutboxOutlook>

/** The hints of one outbox, for one store. */
export class OutboxHints {
  readonly #hub: HintHub
  readonly #prefix: string
  readonly #ask: AskForMessages
  readonly #listening = new Map<HubMember, HintSubscription>()
  #runtime = 0

  constructor(hub: HintHub, prefix: string, ask: AskForMessages) {
    this.#hub = hub
    this.#prefix = prefix
    this.#ask = ask
  }

  /** Whether there are listeners. */
  get hasListeners(): boolean {
    return this.#listeners().length > 0
  }

  /** Passes hints of messages to a listener, until it is closed. */
  listen(listener: OutboxListener): HintSubscription {
    const member: OutboxMember = new OutboxMember(this.#prefix, listener, {
      ask: this.#ask,
      runtime: () => this.#runtime,
      onClose: () => this.#listening.delete(member),
    })
    const listening = this.#hub.join(member)
    this.#listening.set(member, listening)
    // From now on all commits are noticed; this poll finds earlier ones.
    member.look()
    return listening
  }

  /** Tells all listeners of this outbox that partitions have something to deliver, now or at a time. */
  announce(partitions: readonly number[], at: number): void {
    if (partitions.length === 0) return
    for (const member of this.#listeners()) member.announce(partitions, at)
  }

  /** Has all listeners of this outbox look for what there is to deliver. */
  wakeAll(): void {
    for (const member of this.#listeners()) member.announce([], 0)
  }

  /** The runtime that uses this store: its own commits need no hint. */
  useRuntime(runtime: number): void {
    if (this.#runtime === runtime) return
    this.#runtime = runtime
    for (const listening of this.#listening.values()) listening.refresh()
  }

  /** Ends all listeners of this store. */
  async close(): Promise<void> {
    await Promise.all([...this.#listening.values()].map((listening) => listening.close()))
  }

  #listeners(): readonly OutboxMember[] {
    return this.#hub.members.filter(
      (member): member is OutboxMember =>
        member instanceof OutboxMember && member.prefix === this.#prefix,
    )
  }
}

/** What a member needs of its store. */
interface MemberHost {
  readonly ask: AskForMessages
  readonly runtime: () => number
  readonly onClose: () => void
}

class OutboxMember implements HubMember {
  readonly prefix: string
  readonly runtime: () => number
  readonly #listener: OutboxListener
  readonly #asking: Asking
  readonly #onClose: () => void

  constructor(prefix: string, listener: OutboxListener, host: MemberHost) {
    const { ask, runtime, onClose } = host
    this.prefix = prefix
    this.runtime = runtime
    this.#listener = listener
    this.#onClose = onClose
    this.#asking = new Asking(listener, async () => this.#tellAll(await ask()))
  }

  changed(): void {
    this.#asking.noticed()
  }

  announce(partitions: readonly number[], at: number): void {
    if (this.#asking.isClosed) return
    try {
      this.#listener.onMessages(partitions, at)
    } catch (error) {
      this.#listener.log.error({ err: error }, 'handling a hint failed')
    }
  }

  look(): void {
    this.#listener.look().catch((error: unknown) => {
      // The tick fails as well, logs that, and is retried.
      this.#listener.log.debug({ err: error }, 'polling the store failed')
    })
  }

  close(): void {
    this.#onClose()
    this.#asking.close()
  }

  #tellAll({ clock, work, delayedAt }: OutboxOutlook): void {
    // A runtime that gave a partition back until later looks for it then.
    const due = work
      .filter(({ dueAt }) => dueAt !== null && dueAt <= clock)
      .map(({ partition }) => partition)
    if (due.length > 0) this.announce(due, 0)
    if (delayedAt !== null) this.announce([], delayedAt)
  }
}
