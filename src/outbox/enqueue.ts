import { describe } from '../base/describe.ts'
import { number, option, resolveOptions } from '../base/options.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { isPlainText } from '../base/plain-text.ts'
import { parse } from '../base/schema.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import type { NewMessage, TopicRow } from '../store/outbox-store.ts'
import { partitionOf } from './partition-of.ts'
import type { TopicDefinition } from './topic.ts'

/** Options of one message. */
export interface EnqueueOptions {
  /** Messages with the same key are delivered in order. Without a key, any partition is used. */
  key?: string
  /**
   * The index of a partition of the topic, instead of the one that the key leads to. Together with a `key`
   * it gives up the order of that key: its messages in other partitions are delivered independently.
   */
  partition?: number
  /**
   * A second message of the topic with this key is not stored. Keys are remembered for as long as
   * `dedupeWindow` of the outbox says.
   */
  dedupeKey?: string
  /** When it enters its partition, counted from now. Messages that are enqueued meanwhile pass it. */
  delay?: Duration
  /** It is dropped if it cannot be delivered within this time after its delay. */
  ttl?: Duration
  /** Texts that travel with the message, such as a `traceparent`. */
  headers?: Record<string, string>
}

/** A message for `enqueueMany`. */
export interface EnqueueItem<In> extends EnqueueOptions {
  readonly payload: In
}

const MAX_KEY = 500
const MAX_HEADERS = 16_384

const OPTIONS = {
  key: option(keyText, undefined),
  partition: option(number({ min: 0, integer: true }, 0).check, undefined),
  dedupeKey: option(keyText, undefined),
  delay: duration(0),
  ttl: duration(undefined, { min: 1 }),
  headers: option(headersText, undefined),
}

/** Checks and encodes messages of a topic before anything is written. */
export async function newMessages(
  owner: string,
  topic: TopicDefinition,
  items: readonly EnqueueItem<unknown>[],
  { encode, maxPayloadBytes }: EncodingLimits,
): Promise<(row: TopicRow) => NewMessage[]> {
  if (!Array.isArray(items)) {
    throw new TypeError(`${owner}: messages must be a list, got ${describe(items)}`)
  }
  const checked = await Promise.all(
    Array.from(items, async (item: EnqueueItem<unknown>, i) => {
      const place = `${owner}: message ${i + 1} of ${items.length}`
      if (!isPlainObject(item)) {
        throw new TypeError(`${place} must be an object with a payload, got ${describe(item)}`)
      }
      if (!Object.hasOwn(item, 'payload')) {
        throw new TypeError(`${place} has no payload: write { payload, ...options }`)
      }
      const label = items.length === 1 ? owner : place
      const { payload: given, ...options } = item
      const { partition, ...rest } = resolveOptions(label, options, OPTIONS)
      if (partition !== undefined && partition >= topic.partitions) {
        throw new RangeError(
          `${label}: partition must be below ${topic.partitions}, which is how many topic ` +
            `"${topic.name}" has, got ${partition}`,
        )
      }
      const parsed = await parse(topic.schema, given, `${label}: the payload`)
      const payload = encode(parsed, `${label}: the payload`)
      const bytes = Buffer.byteLength(payload)
      if (bytes > maxPayloadBytes) {
        throw new RangeError(
          `${label}: the payload has ${bytes} bytes, and at most ${maxPayloadBytes} are allowed; store ` +
            'large data elsewhere and enqueue a reference, or raise maxPayloadBytes of outbox()',
        )
      }
      return { ...rest, payload, partition: partition ?? indexFor(rest.key, topic.partitions) }
    }),
  )
  return (row) =>
    checked.map(({ partition, key, payload, headers, delay, ttl, dedupeKey }) => ({
      partition: row.first + partition,
      topic: row.topic,
      key: key ?? null,
      payload,
      headers: headers ?? null,
      delayMs: delay,
      ttlMs: ttl ?? null,
      dedupeKey: dedupeKey ?? null,
    }))
}

/** How payloads are encoded, and how large they may be. */
export interface EncodingLimits {
  readonly encode: (value: unknown, label: string) => string
  readonly maxPayloadBytes: number
}

let next = 0

/** Messages without a key take the partitions in turn. */
function indexFor(key: string | undefined, partitions: number): number {
  return key === undefined ? next++ % partitions : partitionOf(key, partitions)
}

function keyText(value: unknown, what: string): string {
  if (isPlainText(value) && value !== '' && value.length <= MAX_KEY) return value
  throw new TypeError(
    `${what} must be a string of 1 to ${MAX_KEY} characters without control characters, got ` +
      describe(value),
  )
}

function headersText(value: unknown, what: string): string {
  if (!isPlainObject(value)) {
    throw new TypeError(`${what} must be an object with string values, got ${describe(value)}`)
  }
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') {
      throw new TypeError(`${what}: "${name}" must be a string, got ${describe(text)}`)
    }
    if (!isPlainText(name) || /[\0\p{Surrogate}]/u.test(text)) {
      throw new TypeError(
        `${what}: ${describe(name)} must not contain U+0000, lone surrogates or, in its name, ` +
          'control characters',
      )
    }
  }
  const json = JSON.stringify(value)
  if (json.length <= MAX_HEADERS) return json
  throw new RangeError(
    `${what} must have at most ${MAX_HEADERS} characters as JSON, got ${json.length}`,
  )
}
