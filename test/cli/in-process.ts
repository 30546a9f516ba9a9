// Runs the command line from source in the process of the test, where a process each would cost too much.

import { Readable, Writable } from 'node:stream'
import { main } from '../../src/cli/main.ts'
import type { Result, RunOptions } from './cli.ts'

/** Runs the command line to its end. */
export async function holdfastHere(
  args: readonly string[],
  { cwd = process.cwd(), env = {}, input = '' }: RunOptions = {},
): Promise<Result> {
  const stdout = new Collected()
  const stderr = new Collected()
  const stdin = Readable.from([input])
  const never = new AbortController().signal
  const code = await main(args, { stdin, stdout, stderr, env, cwd }, never)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

class Collected extends Writable {
  readonly #chunks: string[] = []

  get text(): string {
    return this.#chunks.join('')
  }

  override _write(chunk: unknown, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(String(chunk))
    done()
  }
}
