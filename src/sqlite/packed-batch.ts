import type {
  CommitBatch,
  EndStatus,
  Ending,
  Next,
  StartItem,
  TurnItem,
  TurnRow,
} from '../store/workflow-store.ts'

// A batch on its way to the thread: all numbers in one list, all texts in another. Objects would be
// cloned field by field: for a batch of 100 turns that takes three to four times as long.

/** A batch as two flat lists. */
export interface PackedBatch {
  readonly runtime: number
  readonly server: string
  readonly starts: number
  readonly turns: number
  readonly numbers: Float64Array
  readonly texts: readonly string[]
}

const STATUSES: readonly EndStatus[] = ['completed', 'failed', 'cancelled', 'terminated']
const KINDS: readonly Next['kind'][] = ['keep', 'release', 'hold', 'end']
const NONE = -1

/** Takes a batch apart. */
export function packBatch({ runtime, server, starts, turns }: CommitBatch): PackedBatch {
  const numbers: number[] = []
  const texts: string[] = []
  for (const { iid, id, workflow, owned, wakeAt, turn, end } of starts) {
    numbers.push(iid, workflow, owned ? 1 : 0, wakeAt ?? NONE)
    texts.push(id)
    packRow(turn, numbers, texts)
    packEnd(end, numbers, texts)
  }
  for (const { iid, epoch, turn, taken, next } of turns) {
    numbers.push(iid, epoch, KINDS.indexOf(next.kind), taken.length)
    for (const id of taken) numbers.push(id)
    packRow(turn, numbers, texts)
    if (next.kind === 'release') numbers.push(next.wakeAt ?? NONE)
    else if (next.kind === 'hold') texts.push(next.report)
    else if (next.kind === 'end') packEnd(next.end, numbers, texts)
  }
  return {
    runtime,
    server,
    starts: starts.length,
    turns: turns.length,
    numbers: Float64Array.from(numbers),
    texts,
  }
}

function packRow(row: TurnRow | null, numbers: number[], texts: string[]): void {
  if (row === null) {
    numbers.push(NONE)
    return
  }
  numbers.push(row.execution, row.turn, row.at, row.first, row.count)
  texts.push(row.events)
}

function packEnd(end: Ending | null, numbers: number[], texts: string[]): void {
  numbers.push(end === null ? NONE : STATUSES.indexOf(end.status))
  if (end !== null) texts.push(end.output)
}

/** Puts a batch together again. */
export function unpackBatch(packed: PackedBatch): CommitBatch {
  const { runtime, server, numbers, texts } = packed
  let n = 0
  let t = 0
  const number = (): number => numbers[n++]!
  const text = (): string => texts[t++]!
  const time = (): number | null => {
    const value = number()
    return value === NONE ? null : value
  }
  const row = (): TurnRow | null => {
    const execution = number()
    if (execution === NONE) return null
    return {
      execution,
      turn: number(),
      at: number(),
      first: number(),
      count: number(),
      events: text(),
    }
  }
  const end = (): Ending | null => {
    const status = number()
    return status === NONE ? null : { status: STATUSES[status]!, output: text() }
  }
  const next = (kind: Next['kind']): Next => {
    switch (kind) {
      case 'keep':
        return { kind }
      case 'release':
        return { kind, wakeAt: time() }
      case 'hold':
        return { kind, report: text() }
      case 'end':
        return { kind, end: end()! }
    }
  }
  const start = (): StartItem => ({
    iid: number(),
    workflow: number(),
    owned: number() === 1,
    wakeAt: time(),
    id: text(),
    turn: row()!,
    end: end(),
  })
  const turn = (): TurnItem => {
    const [iid, epoch, kind, takenCount] = [number(), number(), number(), number()]
    const taken = Array.from({ length: takenCount }, number)
    return { iid, epoch, taken, turn: row(), next: next(KINDS[kind]!) }
  }
  return {
    runtime,
    server,
    starts: Array.from({ length: packed.starts }, start),
    turns: Array.from({ length: packed.turns }, turn),
  }
}
