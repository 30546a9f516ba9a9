import { createInterface } from 'node:readline/promises'
import { CliError, EXIT, UsageError } from '../errors/cli-error.ts'
import type { Terminal } from '../output/terminal.ts'

/** Asks before something that cannot be undone. Without a terminal, `--yes` has to say so. */
export async function confirm(
  terminal: Terminal,
  question: string,
  options: { readonly yes: boolean; readonly signal: AbortSignal },
): Promise<boolean> {
  if (options.yes) return true
  if (!terminal.canAsk) throw new UsageError(`${question} Give --yes to do it without being asked`)
  const lines = createInterface({ input: terminal.io.stdin, output: terminal.io.stderr })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      // On a terminal, readline takes Ctrl-C and Ctrl-D for itself.
      lines.once('SIGINT', () => reject(new CliError('nothing was done', EXIT.interrupted)))
      lines.once('close', () => resolve(''))
      lines.question(`${question} [y/N] `, { signal: options.signal }).then(resolve, reject)
    })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}
