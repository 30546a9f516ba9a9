import { types } from 'node:util'
import { decode, encode } from '../base/codec.ts'
import { describe } from '../base/describe.ts'
import { type Payload, RAW } from '../store/queue-store.ts'

/**
 * Turns values into what is stored, and back.
 *
 * Each record keeps the version it was written with, and `decode` is given it: raise the version when
 * the encoding changes, and read the older ones as long as there may be any.
 */
export interface QueueCodec<T> {
  /** From 0. A record of a later version is not given to `decode`; it becomes a dead letter. */
  readonly version: number
  encode(value: T): Uint8Array | string
  decode(data: Uint8Array | string, version: number): T
}

/** SQLite would take more, but each message passes through memory several times. */
const MOST_LENGTH = 256 * 1024 * 1024

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
  if (typeof data === 'string' || types.isUint8Array(data)) {
    return checked({ data, format: codec.version })
  }
  throw new TypeError(`queue push: the codec must give text or bytes, gave ${describe(data)}`)
}

/** The value of a payload. Throws whatever is wrong with it. */
export function fromPayload<T>(codec: QueueCodec<T>, { data, format }: Payload): T {
  // Copied: it stands among others in one buffer.
  if (format === RAW) return new Uint8Array(data as Uint8Array) as T
  if (format > codec.version) {
    throw new Error(`it was written with version ${format} of the codec, this is ${codec.version}`)
  }
  return codec.decode(typeof data === 'string' ? data : new Uint8Array(data), format)
}

function checked(payload: Payload): Payload {
  const { length } = payload.data
  if (length <= MOST_LENGTH) return payload
  throw new RangeError(
    `queue push: a message must not be longer than ${MOST_LENGTH}, got ${length}`,
  )
}
