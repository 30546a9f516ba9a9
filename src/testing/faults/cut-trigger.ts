import { describe } from '../../base/describe.ts'
import { number, oneOf, option, resolveOptions } from '../../base/options.ts'

/**
 * When a proxy is to cut a connection. Give `text` or `bytes`.
 *
 * @example `{ text: 'commit_batch', at: 'answer' }`: a batch is committed, and its answer is lost.
 */
export interface CutOn {
  /** Cuts the connection over which this text goes to the server: the name of a procedure, SQL. */
  readonly text?: string
  /**
   * When exactly, for a `text`. `request`: the server never gets it, and an open transaction is
   * rolled back · `answer`: the server has done what it says and has answered, which the client
   * never gets · `after`: the client has got the answer.
   *
   * @default 'request'
   */
  readonly at?: 'request' | 'answer' | 'after'
  /**
   * Cuts the connection over which byte number `bytes` passes, right after it, in either direction:
   * usually in the middle of a message.
   */
  readonly bytes?: number
}

/** One cut that is to happen, and the caller that waits for it. */
export class CutTrigger {
  /** Empty when bytes are counted. */
  readonly text: Buffer
  readonly at: 'request' | 'answer' | 'after'
  /** Bytes that may still pass. */
  bytesLeft: number
  /** Resolves when the connection was cut. */
  readonly done: Promise<void>
  readonly #tails = new WeakMap<object, Buffer>()
  #settle!: () => void

  constructor(given: CutOn) {
    const { text, at, bytes } = resolveOptions('cutOn', given, {
      text: option(someText, ''),
      at: oneOf(['request', 'answer', 'after'], 'request'),
      bytes: number({ min: 1, integer: true }, Infinity),
    })
    if ((text === '') === (bytes === Infinity)) {
      throw new TypeError('cutOn: give either text or bytes')
    }
    this.text = Buffer.from(text)
    this.at = at
    this.bytesLeft = bytes
    this.done = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  settle(): void {
    this.#settle()
  }

  /** Whether the text is complete with this piece; it may come in several. */
  sees(connection: object, piece: Buffer): boolean {
    if (this.text.length === 0) return false
    const before = this.#tails.get(connection)
    const seen = before === undefined ? piece : Buffer.concat([before, piece])
    if (seen.includes(this.text)) return true
    this.#tails.set(connection, seen.subarray(Math.max(0, seen.length - this.text.length + 1)))
    return false
  }
}

function someText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be a non-empty string, got ${describe(value)}`)
}
