// What really happened in the outside world, one line of JSON for each event: a stand-in for the
// books of the card company, the warehouse and the courier. It does not use Holdfast, so it can
// show afterwards what was done how often.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** One line of the ledger. */
export type Entry =
  | { readonly what: 'program started'; readonly pid: number }
  | ({ readonly what: 'begun' } & Attempt)
  | ({ readonly what: 'done' } & Attempt)
  | ({ readonly what: 'failed'; readonly note: string } & Attempt)
  | {
      readonly what: 'charged'
      readonly order: string
      readonly key: string
      readonly cents: number
      readonly receipt: string
    }

/** One attempt of an activity. */
export interface Attempt {
  readonly activity: string
  readonly order: string
  readonly attempt: number
  /** The same for all attempts of one call. */
  readonly key: string
}

/** The ledger of one run of the example, over any number of starts. */
export interface Ledger {
  /** Everything up to now, also what earlier processes wrote. */
  readonly entries: readonly Entry[]
  /** Writes a line, and calls the listeners. */
  write(entry: Entry): void
  /** Calls back for each line written from now on. */
  onEntry(listener: (entry: Entry) => void): void
}

/** Opens the file and reads what is there. */
export function openLedger(path: string): Ledger {
  const entries = existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Entry)
    : []
  const listeners: ((entry: Entry) => void)[] = []
  return {
    entries,
    write(entry) {
      appendFileSync(path, `${JSON.stringify(entry)}\n`)
      entries.push(entry)
      for (const listener of listeners) listener(entry)
    },
    onEntry: (listener) => void listeners.push(listener),
  }
}
