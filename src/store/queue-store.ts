// The port of durable queues. One store is one user of one queue: what it takes is leased to it,
// and becomes available again when the store is closed, its process has ended, or the lease has
// expired.
//
//   - Ids only grow and are never reused, whatever was acknowledged or removed.
//   - A delivery is identified by its message and its receipt. Each delivery has a new receipt, so
//     an older delivery cannot settle a newer one.
//   - A batch is one transaction. Its items are judged one by one.
//   - Of messages with one key, at most one is ready, delayed or in flight, the others are blocked
//     or dead. It is the oldest of those not dead, unless it is in flight.
//   - Once a batch is answered, it survives the end of the process; one that is `durable` survives
//     power loss, with everything that was answered before it.

/** A value as it is stored. */
export interface Payload {
  readonly data: string | Uint8Array
  /** Which encoding it is in: `RAW`, or the version of a codec. `DAMAGED` comes only out of a store. */
  readonly format: number
}

/** The format of bytes that are stored as they were given. */
export const RAW = -1

/**
 * The format of a record whose data is not what was pushed: it is missing, or it does not match its
 * checksum. The data is replaced by a text that says what is wrong.
 */
export const DAMAGED = -2

/** Messages that are stored together, or not at all. */
export interface PushGroup {
  readonly payloads: readonly Payload[]
  readonly priority: number
  readonly delayMs: number
  /** Messages older than this expire. */
  readonly ttlMs: number | null
  /** Messages of one key are delivered one after the other. */
  readonly key: string | null
  /** A second group with this key within `dedupeMs` of the first returns the ids of the first. */
  readonly dedupeKey: string | null
  readonly dedupeMs: number
}

/** The outcomes of a push, in the order of their numbers in messages from a thread. */
export const PUSH_STATES = ['stored', 'duplicate', 'full', 'no_disk', 'ids_exhausted'] as const

/**
 * The outcome of a push; a group that was not stored has neither first nor count. `no_disk`: the
 * free space left on the disk is reserved for taking messages out.
 */
export interface PushVerdict {
  readonly state: (typeof PUSH_STATES)[number]
  /** The id of its first message; the others follow. */
  readonly firstId: number
  readonly count: number
}

/** A change of one message. */
export interface Change {
  /**
   * `ack`: processed, remove it · `nack`: failed, deliver it again after `ms` · `release`: not
   * processed, so the attempt does not count · `extend`: the lease ends `ms` later · `dead_letter`:
   * make it a dead letter · `remove`: remove it, whatever its state · `retry`: return a dead letter
   * to the queue, with what is left of its delay and its ttl, or with a new ttl if that is over ·
   * `discard`: remove it if it is a dead letter.
   */
  readonly kind: ChangeKind
  readonly id: number
  /** The receipt of the delivery; changes that are not about a delivery need none. */
  readonly receipt: number
  readonly ms: number
  readonly reason: string
}

/** The kinds of changes, in the order of their numbers in messages to a thread. */
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

/** The outcomes of a change, in the order of their numbers in messages from a thread. */
export const CHANGE_VERDICTS = ['done', 'gone', 'superseded', 'not_in_flight'] as const

/**
 * The outcome of a change. `gone`: the message, or the dead letter, no longer exists ·
 * `superseded`: it was delivered again · `not_in_flight`: it exists, but no user has taken it.
 */
export type ChangeVerdict = (typeof CHANGE_VERDICTS)[number]

/** Messages to take. */
export interface Take {
  /** How many, at most. */
  readonly max: number
  /**
   * Whether they are fetched in advance. The first time that such a message is in flight when its
   * process ends, no attempt is counted, unless it is the last one: the consumer has probably not
   * seen it.
   */
  readonly isPrefetched: boolean
}

/**
 * Everything that waits, to be done in one transaction: first changes, then what has become due,
 * then pushes, then takes.
 */
export interface QueueBatch {
  readonly changes: readonly Change[]
  readonly pushes: readonly PushGroup[]
  /** Whether a group that does not fit keeps all later ones out as well. */
  readonly inOrder: boolean
  /**
   * How many to take, in this order. It may be fewer than are ready, if they are large, but at
   * least one.
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
  /** Why it is a dead letter, or why its latest attempt failed. */
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
  /** Whether other processes use this queue. */
  readonly shared: boolean
  /** What happened during this call. */
  readonly events: QueueEvents
}

/** The outcome of a batch. */
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
