import {
  CHANGE_KINDS,
  type Change,
  DAMAGED,
  type Payload,
  type PushGroup,
  type QueueBatch,
} from '../../store/queue-store.ts'
import { type Packed, PackReader, PackWriter } from '../packing/packing.ts'

// A batch on its way to the thread. What most groups lack costs them one bit.

const KEY = 1
const DEDUPE_KEY = 2
const TTL = 4
const DELAY = 8
const PRIORITY = 16

/** A batch as one buffer: how durable it has to be is decided before it is packed. */
export type PackedPart = Omit<QueueBatch, 'durable'>

/** Packs a batch. */
export function packBatch(batch: PackedPart): Packed {
  const { changes, pushes, inOrder, takes, leaseMs, maxAttempts, capacity } = batch
  const to = new PackWriter()
  for (const value of [leaseMs, maxAttempts, capacity, inOrder ? 1 : 0]) to.number(value)
  to.number(takes.length)
  to.number(changes.length)
  to.number(pushes.length)
  for (const { max, isPrefetched } of takes) {
    to.number(max)
    to.number(isPrefetched ? 1 : 0)
  }
  for (const change of changes) packChange(change, to)
  for (const group of pushes) packGroup(group, to)
  return to.packed()
}

/** Unpacks a batch. */
export function unpackBatch(packed: Packed): PackedPart {
  const from = new PackReader(packed)
  const [leaseMs, maxAttempts, capacity] = [from.number(), from.number(), from.number()]
  const inOrder = from.number() === 1
  const [takeCount, changeCount, groupCount] = [from.number(), from.number(), from.number()]
  return {
    leaseMs,
    maxAttempts,
    capacity,
    inOrder,
    takes: from.list(takeCount, () => ({ max: from.number(), isPrefetched: from.number() === 1 })),
    changes: from.list(changeCount, unpackChange),
    pushes: from.list(groupCount, unpackGroup),
  }
}

/** Few changes have a reason: a bit says which do. */
function packChange({ kind, id, receipt, ms, reason }: Change, to: PackWriter): void {
  const hasReason = reason !== ''
  to.number(CHANGE_KINDS.indexOf(kind) * 2 + (hasReason ? 1 : 0))
  to.number(id)
  to.number(receipt)
  to.number(ms)
  if (hasReason) to.text(reason)
}

function unpackChange(from: PackReader): Change {
  const mark = from.number()
  return {
    kind: CHANGE_KINDS[Math.floor(mark / 2)]!,
    id: from.number(),
    receipt: from.number(),
    ms: from.number(),
    reason: mark % 2 === 1 ? from.text() : '',
  }
}

function packGroup(group: PushGroup, to: PackWriter): void {
  const { payloads, priority, delayMs, ttlMs, key, dedupeKey, dedupeMs } = group
  const parts =
    (key === null ? 0 : KEY) |
    (dedupeKey === null ? 0 : DEDUPE_KEY) |
    (ttlMs === null ? 0 : TTL) |
    (delayMs === 0 ? 0 : DELAY) |
    (priority === 0 ? 0 : PRIORITY)
  to.number(parts)
  if (key !== null) to.text(key)
  if (dedupeKey !== null) {
    to.text(dedupeKey)
    to.number(dedupeMs)
  }
  if (ttlMs !== null) to.number(ttlMs)
  if (delayMs !== 0) to.number(delayMs)
  if (priority !== 0) to.number(priority)
  to.number(payloads.length)
  for (const payload of payloads) packPayload(payload, to)
}

function unpackGroup(from: PackReader): PushGroup {
  const parts = from.number()
  const has = (part: number): boolean => (parts & part) !== 0
  const key = has(KEY) ? from.text() : null
  const dedupeKey = has(DEDUPE_KEY) ? from.text() : null
  return {
    key,
    dedupeKey,
    dedupeMs: dedupeKey === null ? 0 : from.number(),
    ttlMs: has(TTL) ? from.number() : null,
    delayMs: has(DELAY) ? from.number() : 0,
    priority: has(PRIORITY) ? from.number() : 0,
    payloads: from.list(from.number(), unpackPayload),
  }
}

/** Formats begin at `DAMAGED`; the lowest bit distinguishes text from bytes. */
export function packPayload({ data, format }: Payload, to: PackWriter): void {
  const isText = typeof data === 'string'
  to.number((format - DAMAGED) * 2 + (isText ? 1 : 0))
  if (isText) to.text(data)
  else to.bytes(data)
}

/** Reads what `packPayload` wrote. */
export function unpackPayload(from: PackReader): Payload {
  const mark = from.number()
  const isText = mark % 2 === 1
  return {
    format: Math.floor(mark / 2) + DAMAGED,
    data: isText ? from.text() : from.bytes(),
  }
}
