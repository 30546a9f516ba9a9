import type { Iid } from './instances.ts'

/** A message or result that waits for the owner. */
export interface InboxRow {
  readonly id: number
  /**
   * `completed`, `failed`: of the command `command` in `execution`. `message`: for the channel
   * `name`. `cancel`, `terminate`: for the instance.
   */
  readonly kind: 'completed' | 'failed' | 'message' | 'cancel' | 'terminate'
  /** 0 unless it is a result; so is `command`. */
  readonly execution: number
  readonly command: number
  /** The channel of a message; otherwise empty. */
  readonly name: string
  /** Where the answer to a request goes; otherwise empty. */
  readonly replyTo: string
  /**
   * An encoded value, error, or reason. The first messages of a channel have it, up to
   * `MAX_MAIL_BYTES` for each channel and at least one message; it is `null` for those behind them,
   * which are read when the earlier ones are gone.
   */
  readonly payload: string | null
  /** No code has waited for it so far. */
  readonly parked: boolean
}

/** The result of a command that an instance waits for. */
export interface Delivery {
  readonly iid: Iid
  readonly kind: 'completed' | 'failed'
  readonly execution: number
  readonly command: number
  readonly payload: string
  /**
   * The last turn of that execution that its sender has seen. A store whose history does not have
   * that turn, with the same time, drops the result: it belongs to what a failover lost. Without it
   * nothing is compared.
   */
  readonly known?: { readonly turn: number; readonly at: number }
}

/** Something that is sent to an instance by its id. */
export interface Post {
  readonly id: string
  readonly kind: 'message' | 'cancel' | 'terminate'
  /** The channel of a message; otherwise empty. */
  readonly name: string
  readonly payload: string
  /** Where the answer to a request is waited for; otherwise empty. */
  readonly replyTo: string
  /** A second one with the same key, to the same instance, is dropped; empty for no key. */
  readonly dedupeKey: string
  /** How many messages may wait in the channel; `null` for any number. */
  readonly capacity: number | null
  /** From `reserve`: the number of an instance that is not there yet. 0 unless it is a message. */
  readonly iid: Iid
}

/**
 * `full`: the channel has as many messages as it may have, or the instance was never started and
 * `MAX_UNSTARTED_MESSAGES` wait for its start, or `MAX_UNSTARTED_IN_ALL` wait for all instances
 * that were never started. `ended`: the instance has ended and will not read it. `unknown`: there
 * is no such instance; a message is kept for it (`sent`), anything else is not. `locked`: another
 * transaction has locked the id or the key. Neither this post nor any later one of the batch for
 * the same instance was applied: the caller sends it again later, separately.
 * `untried`: other posts of the batch were locked, and finding them took too long. Nothing was
 * done, and nothing later for the same instance: the caller sends it again at once.
 */
export type PostVerdict = 'sent' | 'duplicate' | 'full' | 'ended' | 'unknown' | 'locked' | 'untried'

/** How posts are sent. */
export interface PostBatchOptions {
  /**
   * For a client: the store may notify the owners itself if that is faster than a hint afterwards,
   * and says so in `isNotified`.
   */
  readonly notify?: boolean
  /** They were locked before, and may still be. */
  readonly wereLocked?: boolean
}

/** The outcome of a post, and which runtime owns its instance. */
export interface PostAnswer {
  readonly verdict: PostVerdict
  /** 0 when unknown. */
  readonly iid: Iid
  /** The runtime that owns it now, if any. */
  readonly owner: number | null
  /** Whether the store notifies the owner itself, as it was asked to. */
  readonly isNotified?: boolean
}
