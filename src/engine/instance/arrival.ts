import type { Event } from '../../store/history.ts'

/** A result, a failed attempt, a timer or a cancellation: something for the next turn. */
export interface Arrival {
  readonly event: Extract<
    Event,
    { type: 'completed' | 'failed' | 'fired' | 'attempt' | 'cancelled' }
  >
  /** The inbox row it came from. */
  readonly inboxId?: number
  /** A result that did not come from the task of its command: that task still exists. */
  readonly besideTask?: boolean
  /** Of a deferred timer: the last message that comes before it. See `Inbox.mustWait`. */
  readonly behind?: number
}

/** A message that no turn has taken yet. */
export interface Message {
  readonly inboxId: number
  readonly channel: string
  /** Encoded; `undefined` until it is read, which happens once the messages before it are gone. */
  value: string | undefined
  readonly replyTo: string
  /** The context of the span that sent it, if that was traced. */
  trace: string | undefined
  /** Whether the store knows that no code waits for it. */
  parked: boolean
}

/** Why an instance ends at once, without running its code. */
export interface Stop {
  readonly status: 'cancelled' | 'terminated'
  readonly reason: string
  readonly inboxId?: number
}
