import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/**
 * One line of the side-effect log that all processes of a round share.
 *
 * Every line is one write to a file opened for appending, so the order of the lines is the order in
 * which things happened, whatever the clocks of the processes say.
 */
export type Line =
  | {
      /** `end`: the code of the attempt is about to return; `value` is what it returns. */
      readonly what: 'begin' | 'end'
      readonly pid: number
      readonly id: string
      readonly name: string
      /** Instance number, execution and command. */
      readonly key: string
      readonly attempt: number
      readonly value?: unknown
    }
  /** A caller outside has learned that the instance has ended. */
  | { readonly what: 'ended'; readonly id: string }
  /** A caller outside is about to send a message, and was answered that it is stored. */
  | {
      readonly what: 'sending' | 'sent'
      readonly id: string
      readonly channel: string
      readonly value: unknown
    }

/** Appends a line. */
export function note(path: string, line: Line): void {
  appendFileSync(path, `${JSON.stringify(line)}\n`)
}

/** All lines, in order. */
export function readLedger(path: string): Line[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8').split('\n')
  return text.filter((line) => line !== '').map((line) => JSON.parse(line) as Line)
}

/** The command that a key belongs to: execution and command. */
export function placeOf(key: string): string {
  const [, execution, command] = key.split('-')
  return `${execution}.${command}`
}
