import type { Terminal } from './terminal.ts'

const BAR = 24
const REDRAW_MS = 100

/** A progress bar on stderr, where that is a terminal; elsewhere it writes nothing. */
export class Progress {
  readonly #terminal: Terminal
  readonly #label: string
  readonly #total: number
  #done = 0
  #drawnAt = -Infinity

  constructor(terminal: Terminal, label: string, total: number) {
    this.#terminal = terminal
    this.#label = label
    this.#total = total
    this.#draw()
  }

  /** So many more are done. */
  add(count: number): void {
    this.#done += count
    if (performance.now() - this.#drawnAt >= REDRAW_MS) this.#draw()
  }

  /** Removes the progress bar. */
  end(): void {
    if (this.#isShown) this.#terminal.io.stderr.write('\r\u001b[K')
  }

  get #isShown(): boolean {
    return this.#terminal.io.stderr.isTTY === true
  }

  #draw(): void {
    if (!this.#isShown) return
    this.#drawnAt = performance.now()
    const share = this.#total === 0 ? 1 : Math.min(1, this.#done / this.#total)
    const full = Math.round(share * BAR)
    const bar = '█'.repeat(full) + '░'.repeat(BAR - full)
    const text = `${this.#label} ${bar} ${this.#done}/${this.#total}`
    this.#terminal.io.stderr.write(`\r\u001b[K${text}`)
  }
}
