import { describe } from '../base/describe.ts'
import { number, option, resolveOptions } from '../base/options.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { isPlainText } from '../base/plain-text.ts'
import { parsedValue } from '../base/schema.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import type { NewMessage, TopicRow } from '../store/outbox-store.ts'
import { partitionOf } from './partition-of.ts'
import type { PartitionTurns } from './partition-turns.ts'
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

/** A message that is checked and encoded; its partition is an index of the topic. */
export type EncodedMessage = Omit<NewMessage, 'topic'>

/**
 * Checks and encodes messages of a topic before anything is written. Unless the schema answers later, that is done
 * when this returns: from then on the caller may change what it has passed.
 */
export async function encodeMessages(
  owner: string,
  topic: TopicDefinition,
  items: readonly EnqueueItem<unknown>[],
  { encode, maxPayloadBytes, turns }: Encoding,
): Promise<readonly EncodedMessage[]> {
  if (!Array.isArray(items)) {
    throw new TypeError(`${owner}: messages must be a list, got ${describe(items)}`)
  }
  return Promise.all(
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
      const what = `${label}: the payload`
      const answer = topic.schema?.['~standard'].validate(given)
      // Not awaited without need: what comes after an `await` is too late for this.
      const validated = isPromise(answer) ? await answer : answer
      const parsed = topic.schema === undefined ? given : parsedValue(validated, what)
      const payload = encode(parsed, what)
      const bytes = Buffer.byteLength(payload)
      if (bytes > maxPayloadBytes) {
        throw new RangeError(
          `${label}: the payload has ${bytes} bytes, and at most ${maxPayloadBytes} are allowed; store ` +
            'large data elsewhere and enqueue a reference, or raise maxPayloadBytes of outbox()',
        )
      }
      const { key, headers, delay, ttl, dedupeKey } = rest
      return {
        partition: partition ?? indexFor(key, topic, turns),
        key: key ?? null,
        payload,
        headers: headers ?? null,
        delayMs: delay,
        ttlMs: ttl ?? null,
        dedupeKey: dedupeKey ?? null,
      }
    }),
  )
}

/** Messages in the partitions that their topic has in the store. */
export function placed(
  messages: readonly EncodedMessage[],
  { topic, first }: TopicRow,
): NewMessage[] {
  return messages.map((message) => ({ ...message, topic, partition: first + message.partition }))
}

/** How payloads are encoded and how large they may be, and where messages without a key go. */
export interface Encoding {
  readonly encode: (value: unknown, label: string) => string
  readonly maxPayloadBytes: number
  readonly turns: PartitionTurns
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function'
}

function indexFor(key: string | undefined, topic: TopicDefinition, turns: PartitionTurns): number {
  return key === undefined ? turns.take(topic) : partitionOf(key, topic.partitions)
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
