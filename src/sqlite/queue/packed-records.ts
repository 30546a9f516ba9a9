import type { QueueRecord, RecordState } from '../../store/queue-store.ts'
import { packPayload, unpackPayload } from './packed-batch.ts'
import { type Packed, PackReader, PackWriter } from '../packing/packing.ts'

// Records on their way from the thread.

/** The meaning of the numbers in the column `state`. */
export const STATES = [
  'ready',
  'delayed',
  'in_flight',
  'dead',
  'blocked',
] as const satisfies readonly RecordState[]

/** Packs records. */
export function packRecords(records: readonly QueueRecord[]): Packed {
  const to = new PackWriter()
  writeRecords(records, to)
  return to.packed()
}

/** Puts them together again. */
export function unpackRecords(packed: Packed): readonly QueueRecord[] {
  return readRecords(new PackReader(packed))
}

/** Writes records behind something else. */
export function writeRecords(records: readonly QueueRecord[], to: PackWriter): void {
  to.number(records.length)
  for (const record of records) {
    const { id, state, attempt, receipt, pushedAt, reason } = record
    to.number(id)
    to.number(STATES.indexOf(state))
    to.number(attempt)
    to.number(receipt)
    to.number(pushedAt)
    to.number(reason === '' ? 0 : 1)
    if (reason !== '') to.text(reason)
    packPayload(record, to)
  }
}

/** Reads what `writeRecords` wrote. */
export function readRecords(from: PackReader): readonly QueueRecord[] {
  return from.list(from.number(), unpackRecord)
}

function unpackRecord(from: PackReader): QueueRecord {
  const [id, state] = [from.number(), STATES[from.number()]!]
  const [attempt, receipt, pushedAt] = [from.number(), from.number(), from.number()]
  const reason = from.number() === 0 ? '' : from.text()
  const { data, format } = unpackPayload(from)
  return { id, state, attempt, receipt, pushedAt, reason, data, format }
}
