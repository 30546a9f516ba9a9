import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

/** A stream that may be a terminal. */
export type Out = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** Where a command reads and writes, and what it knows about its surroundings. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Out
  readonly stderr: Out
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Colours and the like, as `node:util` names them. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The streams of a command, with colours where they are wanted. */
export class Terminal {
  readonly io: Io
  readonly #isColorOff: boolean

  constructor(io: Io, options: { readonly noColor: boolean }) {
    this.io = io
    this.#isColorOff = options.noColor
  }

  /** Whether people look at the output, rather than a program. */
  get isInteractive(): boolean {
    return this.io.stdout.isTTY === true
  }

  /** Whether the user can be asked. */
  get canAsk(): boolean {
    return this.io.stdin.isTTY === true && this.io.stderr.isTTY === true
  }

  /** Columns of the terminal; `Infinity` where the output is not one. */
  get columns(): number {
    const { isTTY, columns } = this.io.stdout
    return isTTY === true && columns !== undefined && columns > 0 ? columns : Infinity
  }

  /** Writes a line of what was asked for. */
  print(line: string): void {
    this.io.stdout.write(`${line}\n`)
  }

  /** Writes a line about what happens. */
  note(line: string): void {
    this.io.stderr.write(`${line}\n`)
  }

  /** Styles text of the output. */
  style(style: Style, text: string): string {
    return this.#isColored(this.io.stdout) ? styled(style, text) : text
  }

  /** Styles text of notes. */
  styleNote(style: Style, text: string): string {
    return this.#isColored(this.io.stderr) ? styled(style, text) : text
  }

  #isColored(out: Out): boolean {
    if (this.#isColorOff) return false
    const { FORCE_COLOR, NO_COLOR, TERM } = this.io.env
    // As Node itself does: FORCE_COLOR decides, if it is given.
    if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
    if (NO_COLOR !== undefined && NO_COLOR !== '') return false
    return out.isTTY === true && TERM !== 'dumb'
  }
}

function styled(style: Style, text: string): string {
  // Decided above: newer lines of Node would look at the streams of the process once more.
  return styleText(style, text, { validateStream: false })
}
