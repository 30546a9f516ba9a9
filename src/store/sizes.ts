// Estimates how much goes to a store in one call. Characters count as bytes: the sum is right
// within a factor of three.

import type { Effects, StartItem, TurnItem } from './commits.ts'
import type { Post } from './inbox.ts'
import type { NewTask } from './tasks.ts'

/** What goes to a store in one call is about this large at the most, unless one item alone is larger. */
export const MAX_CALL_BYTES = 1 << 20

// Numbers, separators, and what the store makes of them.
const ITEM_BYTES = 100

/** The size of a new instance, with all that goes with it. */
export function bytesOfStart(item: StartItem): number {
  const { id, turn, end, labels, messages, effects } = item
  let bytes = 2 * ITEM_BYTES + id.length + turn.events.length + labels.length
  if (end !== null) bytes += end.output.length
  for (const { name, payload } of messages) bytes += ITEM_BYTES + name.length + payload.length
  return effects === null ? bytes : bytes + bytesOfEffects(effects)
}

/** The size of a turn, with all that goes with it. */
export function bytesOfTurn({ turn, taken, effects, next }: TurnItem): number {
  let bytes = ITEM_BYTES + 10 * taken.length
  if (turn !== null) bytes += turn.events.length
  if (next.kind === 'end') bytes += next.end.output.length
  if (next.kind === 'suspend') bytes += next.report.length
  if (next.kind === 'continue') bytes += next.started.events.length
  return effects === null ? bytes : bytes + bytesOfEffects(effects)
}

function bytesOfEffects({ parked, state, progress, replies, tasks }: Effects): number {
  let bytes = 10 * parked.length + (progress?.length ?? 0)
  for (const { key, value } of state) bytes += ITEM_BYTES + key.length + (value?.length ?? 0)
  for (const { to, payload } of replies) bytes += ITEM_BYTES + to.length + payload.length
  for (const task of tasks) bytes += bytesOfTask(task)
  return bytes
}

/** The size of a task. */
function bytesOfTask({ input, options }: Pick<NewTask, 'input' | 'options'>): number {
  return ITEM_BYTES + input.length + options.length
}

/** The size of a message. */
export function bytesOfPost({ id, name, payload, replyTo, dedupeKey }: Post): number {
  return ITEM_BYTES + id.length + name.length + payload.length + replyTo.length + dedupeKey.length
}
