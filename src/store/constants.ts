// Numbers and texts that both databases and the engine use: each is written here and nowhere else.
// SQLite's operations import them. PostgreSQL's procedures write `:NAME`, which `npm run generate`
// replaces with the value, so that a search for the name finds every place that depends on it.
//
// Indexes have `QUARANTINE_DEATHS` and `UNSTARTED_SAMPLE` in their conditions: to change one of
// these takes a migration in each database.

/** An instance or a task that this many runtimes died with is quarantined: it is run by itself. */
export const QUARANTINE_DEATHS = 2

/** An instance that this many runtimes died with, or died with a task of, is suspended. */
export const MAX_DEATHS = 5

/** How long messages are kept for an instance that was never started, after the newest of them. */
export const UNSTARTED_KEPT_MS = 7 * 24 * 3_600_000

/** How many messages may wait for the start of an instance, in all its channels. */
export const MAX_UNSTARTED_MESSAGES = 10_000

/**
 * How many messages may wait for instances that were never started, all together. About: a sample of
 * one in `UNSTARTED_SAMPLE` estimates it, since to count them senders would have to lock one row.
 */
export const MAX_UNSTARTED_IN_ALL = 1_000_000

/** A prime, so that no pattern in the numbers of messages evades the sample. */
export const UNSTARTED_SAMPLE = 1_021

/** How many messages the sample contains when `MAX_UNSTARTED_IN_ALL` is reached. */
export const MAX_UNSTARTED_SAMPLED = Math.ceil(MAX_UNSTARTED_IN_ALL / UNSTARTED_SAMPLE)

/** How many instances that were never started a tick removes, so that no tick takes long. */
export const MAX_UNSTARTED_REMOVED = 500

/** After this many messages a tick removes no further instance that was never started. */
export const MAX_UNSTARTED_MESSAGES_REMOVED = 10_000

/** How much of what waits in a channel is read at once. */
export const MAX_MAIL_BYTES = 1 << 20

/** Of how many unowned instances a tick parks the mail, so that no tick takes long. */
export const MAX_MAIL_PARKED = 1_000

/** How many messages a tick parks. */
export const MAX_MESSAGES_PARKED = 10_000

/** The mail of one whose first turn comes later than this is parked when it is sent. */
export const FIRST_TURN_FAR_MS = 60_000

/** How long the answer to a request is kept. By then the caller has read it, or has given up. */
export const REPLY_KEPT_MS = 3_600_000

/** How long a session without tasks belongs to its runtime. */
export const SESSION_KEPT_MS = 3_600_000

/**
 * How many instances a tick names that wait for an activity which no live runtime is known to have.
 */
export const MAX_STRANDED = 16

/** The time until which a rate is spent is stored in microseconds. */
export const MICROS_PER_MS = 1_000

/** What is spent of a rate by this much beyond all of it was spent under another rate, or another clock. */
export const RATE_SLACK_MS = 60_000

/** How many instances one claim judges by the limits of their workflows, and admits in one line. */
export const MAX_JUDGED = 1_000

/** How many that are locked by other transactions are passed over to find the first of a line. */
export const MAX_SKIPPED = 100

/** How many lines of limits a tick looks at, in case one that has room was not woken. */
export const MAX_LINES_CHECKED = 50

/** Why a child is cancelled or terminated when its parent ends: JSON. */
export const PARENT_CLOSED = '"parent closed"'

/**
 * A search for instances looks at all rows of a table that has no order by age, such as that of
 * unfinished instances, when there are no more than this.
 */
export const MAX_FEW = 5_000

/** How many bytes of messages of a partition an outbox reads at once. A larger message is read alone. */
export const MAX_OUTBOX_READ_BYTES = 4 << 20

/** How many delayed messages of an outbox enter their partitions at once. */
export const MAX_OUTBOX_MOVED = 1_000

/** Of how many unfinished instances a schedule knows that it started them. */
export const MAX_SCHEDULE_RUNNING = 100

/** When a schedule that waits for an instance is looked at even if no runtime noticed its end. */
export const SCHEDULE_RECHECK_MS = 60_000

/** A schedule whose id another transaction has locked is fired again after this. */
export const SCHEDULE_LOCKED_MS = 1_000

/** If the store's clock was turned back by more than this, schedules continue from the earlier time. */
export const SCHEDULE_STEP_BACK_MS = 3_600_000
