// A child process that reads and writes lines. It ends when its input ends.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { plainProgram } from './plain-program.ts'

/** What is started. */
export interface LineProgram {
  readonly script: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Another Node than this one. */
  readonly node?: string
  /** It is killed if it takes longer: then something hangs. */
  readonly longestMs: number
}

/** A process that runs a program. */
export class LineProcess implements AsyncDisposable {
  readonly #name: string
  readonly #child
  readonly #lines: AsyncIterator<string>
  readonly #ended: Promise<unknown[]>

  constructor({ script, args, env, node = process.execPath, longestMs }: LineProgram) {
    this.#name = basename(script)
    const program = script.endsWith('.ts') ? plainProgram(script) : script
    this.#child = spawn(node, ['--no-deprecation', program, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: longestMs,
      env: { ...process.env, ...env },
    })
    this.#ended = once(this.#child, 'exit')
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    const next = await this.#lines.next()
    if (next.done !== true) return next.value
    throw new Error(`${this.#name} ended with ${await this.#how()}`)
  }

  /** Skips lines until this one. */
  async until(line: string): Promise<void> {
    while ((await this.line()) !== line);
  }

  /** Sends it a line, and reads the next line that it writes. */
  ask(line: string): Promise<string> {
    this.#child.stdin.write(`${line}\n`)
    return this.line()
  }

  /** Lets it end by itself. */
  async end(): Promise<void> {
    this.#child.stdin.end()
    const how = await this.#how()
    if (how !== 0) throw new Error(`${this.#name} ended with ${how}`)
  }

  /** Kills it, unless it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill()
    await this.#ended
  }

  async #how(): Promise<number | string> {
    const [code, signal] = (await this.#ended) as [number, null] | [null, string]
    return code ?? signal
  }
}
