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
   * An encoded value, error, or reason. Of messages, those that come first in their channel have it,
   * up to `MAX_MAIL_BYTES` of each channel and one at the least; `null` for those behind them, which
   * are read when the ones before are gone.
   */
  readonly payload: string | null
  /** Nobody waited for it so far. */
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
   * The last turn of that execution that its sender knows of. A store whose history does not have it,
   * at the same time, drops the result: it belongs to what a failover lost. Left out, nothing is
   * compared.
   */
  readonly known?: { readonly turn: number; readonly at: number }
}

/** Something for an instance by its id, from anybody. */
export interface Post {
  readonly id: string
  readonly kind: 'message' | 'cancel' | 'terminate'
  /** The channel of a message; otherwise empty. */
  readonly name: string
  readonly payload: string
  /** Where the answer to a request is waited for; otherwise empty. */
  readonly replyTo: string
  /** What comes again with the same key, to the same instance, is dropped; empty for no key. */
  readonly dedupeKey: string
  /** How many messages may wait in the channel; `null` for any number. */
  readonly capacity: number | null
  /** From `reserve`: the number of an instance that is not there yet. 0 unless it is a message. */
  readonly iid: Iid
}

/**
 * `full`: the channel has as many messages as it may, or the instance was never started and
 * `MAX_UNSTARTED_MESSAGES` wait for that, or `MAX_UNSTARTED_IN_ALL` for all that were never started.
 * `ended`: nobody will read it. `unknown`: there is no such instance; a
 * message is kept for it (`sent`), anything else is not. `locked`: another transaction has locked the
 * id or the key. Nothing was done, nor about what comes behind it for the same instance: it is sent
 * again later, apart from others. `untried`: others of its batch were locked, and looking for them took
 * too long. Nothing was done, nor about what comes behind it: it is sent again at once.
 */
export type PostVerdict = 'sent' | 'duplicate' | 'full' | 'ended' | 'unknown' | 'locked' | 'untried'

/** How posts are sent. */
export interface PostBatchOptions {
  /**
   * For a client: the store may tell the owners by itself where that is quicker than a hint
   * afterwards, and says so in its answer.
   */
  readonly tells?: boolean
  /** They were locked before, and may still be. */
  readonly wereLocked?: boolean
}

/** What became of a post, and which runtime owns its instance. */
export interface PostAnswer {
  readonly verdict: PostVerdict
  /** 0 when unknown. */
  readonly iid: Iid
  /** The runtime that owns it now, if any. */
  readonly owner: number | null
  /** Whether the store notifies the owner itself, as it was asked to. */
  readonly isTold?: boolean
}
