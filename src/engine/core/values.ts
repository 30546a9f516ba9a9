import { type Codec, decode, encode } from '../../base/codec/codec.ts'
import { describe } from '../../base/describe.ts'
import { errorFromData, type ErrorData, errorToData } from '../../base/codec/error-data.ts'
import type { Decoder } from '../replay/execution.ts'
import { outsideExecution } from './unhandled-rejections.ts'

/** How values and errors are written and read back. */
export interface Values extends Decoder {
  /** Throws a `TypeError` that begins with `label` when the value cannot be stored. */
  encode(value: unknown, label: string): string
  /** Never throws: an error can always be recorded. */
  encodeError(thrown: unknown): string
}

const BYTES = '~b'
const TEXT = '~t'

/**
 * The values of a runtime or client. Errors are always written by our own codec: their shape is
 * part of the engine.
 */
export function valuesOf(codec: Codec | undefined): Values {
  return {
    ...(codec === undefined ? { encode, value: decode } : throughCodec(codec)),
    encodeError: (thrown) => encode(errorToData(thrown)),
    error: (text) => errorFromData(decode(text) as ErrorData),
  }
}

// What another codec makes may hold any character, so it is wrapped: history is joined by control
// characters.
function throughCodec(codec: Codec): Pick<Values, 'encode' | 'value'> {
  return {
    encode(value, label) {
      let data: Uint8Array | string
      try {
        data = outsideExecution(() => codec.encode(value))
      } catch (error) {
        throw new TypeError(`${label}: the codec refused it: ${String(error)}`, { cause: error })
      }
      if (typeof data === 'string') return TEXT + JSON.stringify(data)
      if (data instanceof Uint8Array) return BYTES + Buffer.from(data).toString('base64')
      throw new TypeError(`${label}: the codec must write text or bytes, got ${describe(data)}`)
    },
    value(text) {
      // What has no mark was written before a codec was set.
      if (!text.startsWith(BYTES) && !text.startsWith(TEXT)) return decode(text)
      const data = text.slice(2)
      const written = text.startsWith(BYTES)
        ? Buffer.from(data, 'base64')
        : (JSON.parse(data) as string)
      return outsideExecution(() => codec.decode(written))
    },
  }
}
