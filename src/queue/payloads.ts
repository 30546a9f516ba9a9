import { types } from 'node:util'
import { decode, encode } from '../base/codec/codec.ts'
import { describe } from '../base/describe.ts'
import { DAMAGED, type Payload, RAW } from '../store/queue-store.ts'
import { isKept } from './texts.ts'

/**
 * Turns values into what is stored, and back.
 *
 * Each record keeps the version it was written with, and `decode` is given it: raise the version when
 * the encoding changes, and read the older ones as long as there may be any.
 */
export interface QueueCodec<T> {
  /**
   * From 0. A record of a later version is not given to `decode`: opening the queue leaves it alone,
   * and taking it makes it a dead letter.
   */
  readonly version: number
  encode(value: T): Uint8Array | string
  decode(data: Uint8Array | string, version: number): T
}

/** SQLite would take more, but each message passes through memory several times. */
const MAX_LENGTH = 256 * 1024 * 1024

const TEXT_VERSION = 0

/** How values are stored without a codec: bytes as they are, everything else as text. */
export const defaultQueueCodec: QueueCodec<unknown> = {
  version: TEXT_VERSION,
  encode: (value) => encode(value, 'queue push'),
  decode(data) {
    if (typeof data === 'string') return decode(data)
    throw new SyntaxError(`queue: expected text, found ${data.length} bytes`)
  },
}

/** Encodes a value for the store. */
export function toPayload<T>(codec: QueueCodec<T>, value: T): Payload {
  if (codec === defaultQueueCodec && types.isUint8Array(value)) {
    // Copied: the caller may use it again before it is written.
    return checked({ data: new Uint8Array(value), format: RAW })
  }
  const data = codec.encode(value)
  // Copied: the codec may use one buffer for all.
  if (types.isUint8Array(data)) {
    return checked({ data: new Uint8Array(data), format: codec.version })
  }
  if (typeof data === 'string') {
    // Our own text has neither: it says them in other characters.
    if (codec === defaultQueueCodec || isKept(data)) return checked({ data, format: codec.version })
    throw new TypeError(
      'queue push: the codec returned a string with NUL or a lone surrogate; return bytes instead',
    )
  }
  throw new TypeError(`queue push: the codec must return a string or bytes, got ${describe(data)}`)
}

/** Whether a payload is for another codec to read: a later version, or none. */
export function isForeign<T>(codec: QueueCodec<T>, { format }: Pick<Payload, 'format'>): boolean {
  return format > codec.version || (format === RAW && codec !== defaultQueueCodec)
}

/** The value of a payload. Throws whatever is wrong with it. */
export function fromPayload<T>(codec: QueueCodec<T>, { data, format }: Payload): T {
  if (format === DAMAGED) throw new Error(String(data))
  if (isForeign(codec, { format })) {
    if (format === RAW) throw new Error('it was written as bytes, without a codec')
    throw new Error(`it was written with version ${format} of the codec, this is ${codec.version}`)
  }
  // Copied: it is part of a larger buffer.
  if (format === RAW) return new Uint8Array(data as Uint8Array) as T
  return codec.decode(typeof data === 'string' ? data : new Uint8Array(data), format)
}

function checked(payload: Payload): Payload {
  const { length } = payload.data
  if (length <= MAX_LENGTH) return payload
  throw new RangeError(`queue push: a message must not be longer than ${MAX_LENGTH}, got ${length}`)
}
