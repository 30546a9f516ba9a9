import { type Codec, decode, encode } from '../../base/codec/codec.ts'
import { describe } from '../../base/describe.ts'
import { errorFromData, type ErrorData, errorToData } from '../../base/codec/error-data.ts'
import type { Decoder } from '../replay/execution.ts'
import { outsideExecution } from './unhandled-rejections.ts'

/** Encodes and decodes values and errors. */
export interface Values extends Decoder {
  /** Encodes a value. Throws a `TypeError` that begins with `label` when it cannot be stored. */
  encode(value: unknown, label: string): string
  /** Encodes an error. Never throws. */
  encodeError(thrown: unknown): string
}

const BYTES = '~b'
const TEXT = '~t'

/**
 * Creates the `Values` of a runtime or client. Errors always use Holdfast's own codec, because the engine
 * relies on their shape.
 */
export function valuesOf(codec: Codec | undefined): Values {
  return {
    ...(codec === undefined ? { encode, value: decode } : throughCodec(codec)),
    encodeError: (thrown) => encode(errorToData(thrown)),
    error: (text) => errorFromData(decode(text) as ErrorData),
  }
}

// The output of another codec is wrapped, because it may contain the control characters that separate
// the fields of history.
function throughCodec(codec: Codec): Pick<Values, 'encode' | 'value'> {
  return {
    encode(value, label) {
      let data: Uint8Array | string
      try {
        data = outsideExecution(() => codec.encode(value))
      } catch (error) {
        throw new TypeError(`${label}: the codec failed: ${String(error)}`, { cause: error })
      }
      if (typeof data === 'string') return TEXT + JSON.stringify(data)
      if (data instanceof Uint8Array) return BYTES + Buffer.from(data).toString('base64')
      throw new TypeError(
        `${label}: the codec must return a string or bytes, got ${describe(data)}`,
      )
    },
    value(text) {
      // A value without a mark was written before the codec was set.
      if (!text.startsWith(BYTES) && !text.startsWith(TEXT)) return decode(text)
      const data = text.slice(2)
      const written = text.startsWith(BYTES)
        ? Buffer.from(data, 'base64')
        : (JSON.parse(data) as string)
      return outsideExecution(() => codec.decode(written))
    },
  }
}
