import type { Entry } from './ledger.ts'
import type { Outcome } from './workflow.ts'

/** What is to be read at the end, and whether it is as it should be. */
export interface Summary {
  readonly lines: readonly string[]
  readonly good: boolean
}

/** Counts what the ledger says. */
export function summarise(outcomes: readonly Outcome[], entries: readonly Entry[]): Summary {
  const shipped = outcomes.filter(({ kind }) => kind === 'shipped').length
  const starts = entries.filter(({ what }) => what === 'program started').length
  const begun = select(entries, 'begun')
  const done = select(entries, 'done')
  const failed = select(entries, 'failed')
  const again = done.length - new Set(done.map(({ key }) => key)).size
  const cutOff = begun.length - done.length - failed.length
  const charges = select(entries, 'charged')
  const twice = charges.length - new Set(charges.map(({ order }) => order)).size
  return {
    good: charges.length === shipped && twice === 0,
    lines: [
      `orders                ${outcomes.length}: ${shipped} shipped, ${outcomes.length - shipped} declined`,
      `activities            ${new Set(begun.map(({ key }) => key)).size}, in ${begun.length} attempts`,
      `  failed attempts     ${failed.length}`,
      `  cut off, run again  ${cutOff}`,
      `  done, not recorded  ${again} (done again with the same idempotency key)`,
      `program started       ${starts} ${starts === 1 ? 'time' : 'times'}`,
      `cards charged         ${charges.length}, twice: ${twice}`,
    ],
  }
}

function select<W extends Entry['what']>(entries: readonly Entry[], what: W) {
  return entries.filter((entry): entry is Extract<Entry, { what: W }> => entry.what === what)
}
