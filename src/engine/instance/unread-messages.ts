// Messages that are there and not read yet: what lies behind the first megabyte of a channel is read
// once the messages before it are gone (see `MAX_MAIL_BYTES`), and what came with a start is read once
// that is recorded.
//
//   U1. A message that is there has come in time. While code waits for one that is not read yet, no
//       timer fires: the timer is put off until the messages that came before it are handed out.
//   U2. A timer is put off only for messages that were known when its turn came, so that senders who
//       are faster than the code cannot put it off forever.

import type { Arrival, LiveInstance } from './live-instance.ts'

/** Whether its code waits for a message that is there, numbered `last` at most, and not read yet. */
export function awaitsUnread({ unread, mailbox, run }: LiveInstance, last = Infinity): boolean {
  if (unread === undefined || unread.size === 0 || run.outcome !== undefined) return false
  for (const [channel, [first]] of mailbox) {
    if (first === undefined || first.value !== undefined || first.inboxId > last) continue
    if (run.receiver(channel) !== undefined) return true
  }
  return false
}

/** The same, also when what is there for an execution that has just begun has to be read first. */
export function awaitsMail(instance: LiveInstance, last = Infinity): boolean {
  if (!instance.mailDue || instance.run.outcome !== undefined) return awaitsUnread(instance, last)
  for (const { event } of instance.run.open.values()) if (event.type === 'receive') return true
  return false
}

/** Whether an arrival has to wait for messages that came before it: see U1. */
export function isPutOff(instance: LiveInstance, { event, behind }: Arrival): boolean {
  return event.type === 'fired' && awaitsMail(instance, behind)
}

/** The same timer, for a later turn: see U2. */
export function putOff({ unread, mailDue }: LiveInstance, timer: Arrival): Arrival {
  if (timer.behind !== undefined || mailDue) return timer
  let behind = 0
  for (const inboxId of unread?.keys() ?? []) behind = Math.max(behind, inboxId)
  return { ...timer, behind }
}

/** Whether something arrived that the next turn can take. */
export function hasArrivals(instance: LiveInstance): boolean {
  const { arrivals } = instance
  if (arrivals.length === 0) return false
  return !awaitsMail(instance) || arrivals.some((arrival) => !isPutOff(instance, arrival))
}
