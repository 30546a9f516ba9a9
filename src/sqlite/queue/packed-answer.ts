import {
  type BatchAnswer,
  CHANGE_VERDICTS,
  type ChangeVerdict,
  PUSH_STATES,
  type PushVerdict,
  type Standing,
} from '../../store/queue-store.ts'
import { readRecords, writeRecords } from './packed-records.ts'
import { type Packed, PackReader, PackWriter } from '../packing/packing.ts'

// What became of a batch, on its way from the thread.

/** What the thread says of a batch. */
export interface Answer extends BatchAnswer {
  /** Whether `queueEmptyWal` has to follow. */
  readonly mustEmptyWal: boolean
}

/** For a time that never comes. */
const NEVER = -1

/** Takes an answer apart. */
export function packAnswer({ standing, changes, pushes, taken, mustEmptyWal }: Answer): Packed {
  const to = new PackWriter()
  writeStanding(standing, to)
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

/** Puts it together again. */
export function unpackAnswer(packed: Packed): Answer {
  const from = new PackReader(packed)
  return {
    standing: readStanding(from),
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

function writeStanding(
  { now, counts, nextDueAt, shared, happened }: Standing,
  to: PackWriter,
): void {
  to.number(now)
  to.number(counts.ready)
  to.number(counts.inFlight)
  to.number(counts.delayed)
  to.number(counts.dead)
  to.number(nextDueAt ?? NEVER)
  to.number(shared ? 1 : 0)
  to.number(happened.expired)
  to.number(happened.lapsed)
  to.number(happened.dead)
}

function readStanding(from: PackReader): Standing {
  const now = from.number()
  const [ready, inFlight] = [from.number(), from.number()]
  const [delayed, dead] = [from.number(), from.number()]
  const nextDueAt = from.number()
  const shared = from.number() === 1
  const happened = { expired: from.number(), lapsed: from.number(), dead: from.number() }
  return {
    now,
    counts: { ready, inFlight, delayed, dead },
    nextDueAt: nextDueAt === NEVER ? null : nextDueAt,
    shared,
    happened,
  }
}
