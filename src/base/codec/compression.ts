import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
} from 'node:zlib'
import { number, oneOf, resolveOptions } from '../options.ts'
import type { Transform } from './transform.ts'

/** Options of `compression`. */
export interface CompressionOptions {
  /**
   * How to compress. `'deflate'` is the fastest, `'brotli'` the smallest; `'gzip'` is `'deflate'` with a
   * checksum. Values are read whichever of them wrote them.
   *
   * @default 'deflate'
   */
  algorithm?: 'deflate' | 'gzip' | 'brotli'
  /** Encoded values of fewer bytes stay as they are. `Infinity` compresses nothing. @default 1024 */
  threshold?: number
}

interface Algorithm {
  readonly mark: number
  compress(bytes: Uint8Array): Buffer
  decompress(bytes: Uint8Array): Buffer
}

// No value that was compressed here is larger than this.
const maxOutputLength = 1 << 30

// Good enough: from here on, each step costs about twice the time for a few percent.
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

// Stored as the first byte: a new algorithm gets a new mark.
const ALGORITHMS = {
  deflate: {
    mark: 1,
    compress: (bytes) => deflateRawSync(bytes),
    decompress: (bytes) => inflateRawSync(bytes, { maxOutputLength }),
  },
  gzip: {
    mark: 2,
    compress: (bytes) => gzipSync(bytes),
    decompress: (bytes) => gunzipSync(bytes, { maxOutputLength }),
  },
  brotli: {
    mark: 3,
    compress: (bytes) => brotliCompressSync(bytes, QUALITY),
    decompress: (bytes) => brotliDecompressSync(bytes, { maxOutputLength }),
  },
} as const satisfies Record<string, Algorithm>

/**
 * Compresses what is stored, unless it is small or would not get smaller. Put it before `encryption`:
 * encrypted data cannot be compressed.
 */
export function compression(options?: CompressionOptions): Transform {
  const { algorithm, threshold } = resolveOptions('compression', options, {
    algorithm: oneOf(['deflate', 'gzip', 'brotli'], 'deflate'),
    threshold: number({ min: 0, max: Infinity }, 1_024),
  })
  const { mark, compress } = ALGORITHMS[algorithm]
  return {
    kind: 'transform',
    name: 'z',
    encode(bytes) {
      if (bytes.length < threshold) return undefined
      const compressed = compress(bytes)
      // Base64 adds a third.
      if (compressed.length + 1 > bytes.length * 0.7) return undefined
      const marked = Buffer.allocUnsafe(compressed.length + 1)
      marked[0] = mark
      compressed.copy(marked, 1)
      return marked
    },
    decode(bytes) {
      const known = Object.values<Algorithm>(ALGORITHMS).find((one) => one.mark === bytes[0])
      if (known === undefined) {
        throw new Error(
          `it is compressed in an unknown way (${bytes[0]}); was it written by a newer version?`,
        )
      }
      try {
        return known.decompress(bytes.subarray(1))
      } catch (cause) {
        throw new Error(`it cannot be decompressed: ${String(cause)}`, { cause })
      }
    },
  }
}
