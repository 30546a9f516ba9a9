// The port of durable queues. One store is one user of one queue: what it takes is leased to it, and
// comes back when the store is closed, its process has ended, or the lease has.
//
//   - Ids grow for ever and are never used again, whatever was acknowledged or removed.
//   - A delivery is known by its message and its receipt, which no later delivery of the message
//     shares: an older one cannot settle a newer one.
//   - A batch is one transaction. Its items are judged one by one.
//   - Of messages with one key, at most one is ready, delayed or in flight, the others are blocked
//     or dead. It is the oldest of those not dead, unless it is in flight.
//   - A batch survives the end of the process when it is answered; one that is `durable` survives
//     power loss, with everything that was answered before it.

/** A value as it is kept. */
export interface Payload {
  readonly data: string | Uint8Array
  /** Which encoding it is in: `RAW`, or the version of a codec. `DAMAGED` comes only out of a store. */
  readonly format: number
}

/** The format of bytes that are kept as they were given. */
export const RAW = -1

/**
 * The format of a record whose data is not what was pushed: it is missing, or it does not fit its
 * checksum. In place of the data stands a text that says what is wrong.
 */
export const DAMAGED = -2

/** Messages that are stored together, or not at all. */
export interface PushGroup {
  readonly payloads: readonly Payload[]
  readonly priority: number
  readonly delayMs: number
  /** After so long nobody wants them any more. */
  readonly ttlMs: number | null
  /** Messages of one key are delivered one after the other. */
  readonly key: string | null
  /** Within `dedupeMs` of the first group with this key, another one answers the ids of the first. */
  readonly dedupeKey: string | null
  readonly dedupeMs: number
}

/** What can become of a group, in the order of their numbers on the way from a thread. */
export const PUSH_STATES = ['stored', 'duplicate', 'full', 'no_disk', 'ids_exhausted'] as const

/**
 * What became of a group; one that is not there has neither first nor count. `no_disk`: what is left
 * of the disk is needed to take messages out.
 */
export interface PushVerdict {
  readonly state: (typeof PUSH_STATES)[number]
  /** The id of its first message; the others follow. */
  readonly firstId: number
  readonly count: number
}

/** Something that happens to a message. */
export interface Change {
  /**
   * `ack`: done, away with it · `nack`: not done, once more after `ms` · `release`: was never
   * looked at, so the attempt does not count · `extend`: the lease ends `ms` later · `dead_letter`:
   * to the dead letters · `remove`: away with it, whatever its state · `retry`: back from the dead
   * letters, to what is left of its delay and its life, or to a new life if that is over ·
   * `discard`: away with it, if it is a dead letter.
   */
  readonly kind: ChangeKind
  readonly id: number
  /** Of the delivery that this is about; what is not about one needs none. */
  readonly receipt: number
  readonly ms: number
  readonly reason: string
}

/** The kinds of changes, in the order of their numbers on the way to a thread. */
export const CHANGE_KINDS = [
  'ack',
  'nack',
  'release',
  'extend',
  'dead_letter',
  'remove',
  'retry',
  'discard',
] as const

/** What can happen to a message. */
export type ChangeKind = (typeof CHANGE_KINDS)[number]

/** What can become of a change, in the order of their numbers on the way from a thread. */
export const CHANGE_VERDICTS = ['done', 'gone', 'superseded', 'not_in_flight'] as const

/**
 * What became of a change. `gone`: there is no such message any more, or no such dead letter ·
 * `superseded`: it was delivered again · `not_in_flight`: it is there, but nobody has it.
 */
export type ChangeVerdict = (typeof CHANGE_VERDICTS)[number]

/** Messages to take. */
export interface Take {
  /** How many, at most. */
  readonly max: number
  /**
   * Whether they are fetched before anybody asks for them. The first time that one of those is in
   * flight when its process ends, no attempt is counted, unless it is the last one: probably nobody
   * had looked at it.
   */
  readonly isPrefetched: boolean
}

/**
 * Everything that waits, to be done in one transaction: changes, then what time has brought, then
 * pushes, then taking.
 */
export interface QueueBatch {
  readonly changes: readonly Change[]
  readonly pushes: readonly PushGroup[]
  /** Whether a group that finds no room keeps all later ones out as well. */
  readonly inOrder: boolean
  /**
   * What to take, in this order. It may be less although more are ready, when they are large, but
   * never none.
   */
  readonly takes: readonly Take[]
  readonly leaseMs: number
  /** Nacked in this attempt or a later one, a message becomes a dead letter. */
  readonly maxAttempts: number
  /** How many messages there may be, dead letters aside. */
  readonly capacity: number
  /** Whether it has to survive power loss. */
  readonly durable: boolean
}

/** A message as it is stored. */
export interface QueueRecord extends Payload {
  readonly id: number
  readonly state: RecordState
  /** How often it was delivered, since it last came back from the dead letters. */
  readonly attempt: number
  readonly receipt: number
  readonly pushedAt: number
  /** Why it is a dead letter, or why its latest attempt came to nothing. */
  readonly reason: string
}

/** `blocked`: an earlier message of the same key comes first. */
export type RecordState = 'ready' | 'delayed' | 'in_flight' | 'dead' | 'blocked'

/** How many messages there are of each kind. Blocked ones count as delayed. */
export interface QueueCounts {
  readonly ready: number
  readonly inFlight: number
  readonly delayed: number
  readonly dead: number
}

/** What happened to messages during a call, apart from what the call requested. */
export interface QueueEvents {
  /** Messages whose `ttl` had passed, and that were removed. */
  readonly expired: number
  /** Messages in flight whose lease or process had ended. */
  readonly lapsed: number
  /** Messages that became dead letters, for any reason. */
  readonly dead: number
}

/** The state of the queue. */
export interface QueueState {
  /** The store's time. */
  readonly now: number
  readonly counts: QueueCounts
  /** When the next lease or delay ends, or the next message expires. */
  readonly nextDueAt: number | null
  /** Whether others use this queue. */
  readonly shared: boolean
  /** What happened during the call that answers this. */
  readonly events: QueueEvents
}

/** What became of a batch. */
export interface BatchAnswer {
  readonly queueState: QueueState
  readonly changes: readonly ChangeVerdict[]
  readonly pushes: readonly PushVerdict[]
  readonly taken: readonly QueueRecord[]
}

/** Which records to read. */
export interface PageRequest {
  /** Only later ones. */
  readonly after: number
  readonly limit: number
  readonly dead: boolean
}

/** One user of one durable queue. Throws only `StoreError`. */
export interface QueueStore {
  /**
   * Opens it, for a user whose messages become dead letters when their lease or process has ended in
   * that many attempts. Handles what is due, and processes that have ended.
   */
  open(maxAttempts: number): Promise<QueueState>
  /** Does everything in one transaction. */
  apply(batch: QueueBatch): Promise<BatchAnswer>
  /**
   * The state of the queue. Messages that were in flight in a process that has ended are delivered
   * again: at once, or with growing delays if they have ended processes before.
   */
  look(): Promise<QueueState>
  find(id: number): Promise<QueueRecord | undefined>
  /** Records in the order of their ids. May be fewer than the limit; none means that was all. */
  page(request: PageRequest): Promise<readonly QueueRecord[]>
  /** Gives back what this user has in flight, as if it had not been taken, and closes. */
  close(): Promise<void>
}
