import type { Loaded } from '../store/claims.ts'
import type { TurnRow } from '../store/commits.ts'

// Histories on their way from the thread, flat for the same reason as `packed-batch.ts`: of an
// instance that is read after a restart they may be thousands of rows.

/** The rows of any number of histories, one after the other. */
export interface PackedTurns {
  readonly numbers: Float64Array
  readonly texts: readonly string[]
}

/** Instances, and all their histories as one. */
export interface PackedLoad {
  readonly instances: readonly (Omit<Loaded, 'history'> & { readonly turns: number })[]
  readonly turns: PackedTurns
}

const NUMBERS_PER_TURN = 5

/** Takes instances apart. */
export function packLoad(loaded: readonly Loaded[]): PackedLoad {
  return {
    instances: loaded.map(({ history, ...rest }) => ({ ...rest, turns: history.length })),
    turns: packTurns(loaded.flatMap(({ history }) => history)),
  }
}

/** Puts instances together again. */
export function unpackLoad({ instances, turns }: PackedLoad): readonly Loaded[] {
  const rows = unpackTurns(turns)
  let next = 0
  return instances.map(({ turns: count, ...rest }) => ({
    ...rest,
    history: rows.slice(next, (next += count)),
  }))
}

/** Takes rows apart. */
export function packTurns(rows: readonly TurnRow[]): PackedTurns {
  const numbers = new Float64Array(rows.length * NUMBERS_PER_TURN)
  rows.forEach(({ execution, turn, at, first, count }, i) => {
    numbers.set([execution, turn, at, first, count], i * NUMBERS_PER_TURN)
  })
  return { numbers, texts: rows.map(({ events }) => events) }
}

/** Puts rows together again. */
export function unpackTurns({ numbers, texts }: PackedTurns): readonly TurnRow[] {
  return texts.map((events, i) => {
    const at = i * NUMBERS_PER_TURN
    return {
      execution: numbers[at]!,
      turn: numbers[at + 1]!,
      at: numbers[at + 2]!,
      first: numbers[at + 3]!,
      count: numbers[at + 4]!,
      events,
    }
  })
}
