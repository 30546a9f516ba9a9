import {
  type BatchAnswer,
  CHANGE_VERDICTS,
  type ChangeVerdict,
  PUSH_STATES,
  type PushVerdict,
  type QueueState,
} from '../../store/queue-store.ts'
import { readRecords, writeRecords } from './packed-records.ts'
import { type Packed, PackReader, PackWriter } from '../packing/packing.ts'

// The outcome of a batch, on its way from the thread.

/** What the thread says of a batch. */
export interface Answer extends BatchAnswer {
  /** Whether `queueEmptyWal` has to follow. */
  readonly mustEmptyWal: boolean
}

/** For a time that never comes. */
const NEVER = -1

/** Packs an answer. */
export function packAnswer({ queueState, changes, pushes, taken, mustEmptyWal }: Answer): Packed {
  const to = new PackWriter()
  writeQueueState(queueState, to)
  to.number(mustEmptyWal ? 1 : 0)
  to.number(changes.length)
  for (const verdict of changes) to.number(CHANGE_VERDICTS.indexOf(verdict))
  to.number(pushes.length)
  for (const { state, firstId, count } of pushes) {
    to.number(PUSH_STATES.indexOf(state))
    to.number(firstId)
    to.number(count)
  }
  writeRecords(taken, to)
  return to.packed()
}

/** Unpacks an answer. */
export function unpackAnswer(packed: Packed): Answer {
  const from = new PackReader(packed)
  return {
    queueState: readQueueState(from),
    mustEmptyWal: from.number() === 1,
    changes: from.list(from.number(), readChangeVerdict),
    pushes: from.list(from.number(), readPushVerdict),
    taken: readRecords(from),
  }
}

function readChangeVerdict(from: PackReader): ChangeVerdict {
  return CHANGE_VERDICTS[from.number()]!
}

function readPushVerdict(from: PackReader): PushVerdict {
  return { state: PUSH_STATES[from.number()]!, firstId: from.number(), count: from.number() }
}

function writeQueueState(
  { now, counts, nextDueAt, shared, events }: QueueState,
  to: PackWriter,
): void {
  to.number(now)
  to.number(counts.ready)
  to.number(counts.inFlight)
  to.number(counts.delayed)
  to.number(counts.dead)
  to.number(nextDueAt ?? NEVER)
  to.number(shared ? 1 : 0)
  to.number(events.expired)
  to.number(events.lapsed)
  to.number(events.dead)
}

function readQueueState(from: PackReader): QueueState {
  const now = from.number()
  const [ready, inFlight] = [from.number(), from.number()]
  const [delayed, dead] = [from.number(), from.number()]
  const nextDueAt = from.number()
  const shared = from.number() === 1
  const events = { expired: from.number(), lapsed: from.number(), dead: from.number() }
  return {
    now,
    counts: { ready, inFlight, delayed, dead },
    nextDueAt: nextDueAt === NEVER ? null : nextDueAt,
    shared,
    events,
  }
}
