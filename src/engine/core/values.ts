import { type Codec, decode, encode } from '../../base/codec/codec.ts'
import { describe } from '../../base/describe.ts'
import { errorFromData, type ErrorData, errorToData } from '../../base/codec/error-data.ts'
import type { Decoder } from '../replay/execution.ts'
import type { ByteLimit, LimitGuard, LimitKeys } from './limits.ts'
import { outsideExecution } from './unhandled-rejections.ts'

/** Encodes and decodes values and errors. */
export interface Values extends Decoder {
  /**
   * Encodes a value. Throws a `TypeError` that begins with `label` when it cannot be stored, and a
   * `RangeError` when it is larger than `limit`, if that is given. A warning that it comes close has the
   * `keys`.
   */
  encode(value: unknown, label: string, limit?: ByteLimit, keys?: LimitKeys): string
  /** Encodes an error. Never throws. */
  encodeError(thrown: unknown): string
}

const BYTES = '~b'
const TEXT = '~t'

/** Creates the `Values` of a runtime or client. Without a guard, no limit applies. */
export function valuesOf(codec: Codec | undefined, guard?: LimitGuard): Values {
  const values = codec === undefined ? OWN : throughCodec(codec)
  if (guard === undefined) return values
  return {
    ...values,
    encode(value, label, limit, keys) {
      const text = values.encode(value, label)
      if (limit !== undefined) guard.check(text, label, limit, keys)
      return text
    },
  }
}

const OWN: Values = {
  encode,
  value: decode,
  isSame: (a, b) => a === b,
  encodeError: (thrown) => encode(errorToData(thrown)),
  error: (text) => errorFromData(decode(text) as ErrorData),
}

// The output of another codec is wrapped, because it may contain the control characters that separate
// the fields of history.
function throughCodec(codec: Codec): Values {
  const write = (value: unknown, label: string): string => {
    let data: Uint8Array | string
    try {
      data = outsideExecution(() => codec.encode(value))
    } catch (error) {
      throw new TypeError(`${label}: the codec failed: ${String(error)}`, { cause: error })
    }
    if (typeof data === 'string') return TEXT + JSON.stringify(data)
    if (data instanceof Uint8Array) return BYTES + Buffer.from(data).toString('base64')
    throw new TypeError(`${label}: the codec must return a string or bytes, got ${describe(data)}`)
  }
  const read = (text: string): unknown => {
    // A value without a mark was written before the codec was set.
    if (!text.startsWith(BYTES) && !text.startsWith(TEXT)) return decode(text)
    const data = text.slice(2)
    const written = text.startsWith(BYTES)
      ? Buffer.from(data, 'base64')
      : (JSON.parse(data) as string)
    return outsideExecution(() => codec.decode(written))
  }
  return {
    encode: write,
    value: read,
    // It may write the same value in many ways, such as encrypted with a nonce.
    isSame: (a, b) => a === b || encode(read(a)) === encode(read(b)),
    encodeError(thrown) {
      const data = errorToData(thrown)
      try {
        return write(data, 'error')
      } catch (error) {
        // Of the error itself only the name is kept, since the codec may be there to hide the rest.
        const message = `an error of this name could not be stored: ${String(error)}`
        return encode(errorToData(Object.assign(new Error(message), { name: data.name })))
      }
    },
    error: (text) => errorFromData(read(text) as ErrorData),
  }
}
