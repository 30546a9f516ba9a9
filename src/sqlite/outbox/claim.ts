import type { Step } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { isAlive, isClosed } from '../operations/runtimes.ts'
import type { PartitionRow } from './partition-row.ts'
import { undonePositions } from './read.ts'
import { takeBackWaiting } from './waiting.ts'

/** A partition in the hands of a runtime. */
export interface Held {
  readonly row: PartitionRow
  /** With how many messages of it its owner died. */
  readonly abandoned: number
}

/** Judges a step by its runtime and epoch, and by the cursor if it settles. */
export function judge(
  row: PartitionRow,
  runtime: number,
  { epoch, settle }: Pick<Step, 'epoch' | 'settle'>,
): boolean {
  return (
    row.owner === runtime &&
    row.epoch === epoch &&
    (settle === null || settle.cursor === row.cursor)
  )
}

/** Takes a partition that no live runtime owns; `undefined` when one does. */
export function claim(
  tx: Transaction,
  prefix: string,
  runtime: number,
  row: PartitionRow,
): Held | undefined {
  const { owner, partition, handed, handedWaiting } = row
  // Its own: the answer to an earlier claim was lost.
  const isOther = owner !== null && owner !== runtime
  if (isOther && isAlive(tx, owner)) return undefined
  // One that was stopped did not die of its messages.
  const abandoned = isOther && !isClosed(tx, owner) ? handed + handedWaiting : 0
  if (handedWaiting > 0) takeBackWaiting(tx, prefix, partition, abandoned > 0)
  return {
    row: {
      ...row,
      owner: runtime,
      epoch: row.epoch + 1,
      handed: 0,
      handedWaiting: 0,
      failures: abandoned > 0 ? withDeaths(tx, prefix, row) : row.failures,
    },
    abandoned,
  }
}

/** The owner died with these messages: that is a failure of each of them. */
function withDeaths(
  tx: Transaction,
  prefix: string,
  row: PartitionRow,
): ReadonlyMap<number, number> {
  const failures = new Map(row.failures)
  for (const position of undonePositions(tx, prefix, row, row.handed)) {
    failures.set(position, (failures.get(position) ?? 0) + 1)
  }
  return failures
}
