import type { Loaded } from '../../store/claims.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Packed, PackReader, PackWriter } from './packing.ts'

// Histories on their way from the thread: of an instance that is read after a restart they may be
// thousands of rows.

/** Instances, and all their histories as one. */
export interface PackedLoad {
  readonly instances: readonly (Omit<Loaded, 'history'> & { readonly turns: number })[]
  readonly turns: Packed
}

/** Packs instances. */
export function packLoad(loaded: readonly Loaded[]): PackedLoad {
  return {
    instances: loaded.map(({ history, ...rest }) => ({ ...rest, turns: history.length })),
    turns: packTurns(loaded.flatMap(({ history }) => history)),
  }
}

/** Unpacks instances. */
export function unpackLoad({ instances, turns }: PackedLoad): readonly Loaded[] {
  const rows = unpackTurns(turns)
  let next = 0
  return instances.map(({ turns: count, ...rest }) => ({
    ...rest,
    history: rows.slice(next, (next += count)),
  }))
}

/** Packs rows. */
export function packTurns(rows: readonly TurnRow[]): Packed {
  const to = new PackWriter()
  to.number(rows.length)
  for (const row of rows) writeRow(row, to)
  return to.packed()
}

/** Unpacks rows. */
export function unpackTurns(packed: Packed): readonly TurnRow[] {
  const from = new PackReader(packed)
  return from.list(from.number(), readRow)
}

/** Writes a row after something else. */
export function writeRow(row: TurnRow, to: PackWriter): void {
  to.number(row.execution, row.turn, row.at, row.first, row.count)
  to.text(row.events)
}

/** Reads what `writeRow` wrote; its first number may have been read already. */
export function readRow(from: PackReader, execution = from.number()): TurnRow {
  return {
    execution,
    turn: from.number(),
    at: from.number(),
    first: from.number(),
    count: from.number(),
    events: from.text(),
  }
}
