import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

/** What separates the name of a label from its value: no name contains it. */
const SEPARATOR = '\x1f'

/** The key of a label in its table. */
export function labelKey(name: string, value: string): string {
  return `${name}${SEPARATOR}${value}`
}

/** Adds the labels of a new instance, which are JSON, for searches. */
export function noteLabels(tx: Transaction, iid: Iid, labels: string): void {
  if (labels === '{}') return
  for (const [name, value] of Object.entries(JSON.parse(labels) as Record<string, string>)) {
    tx.sql('insert or ignore into labels (label, created_at, iid) values (?, ?, ?)').run(
      labelKey(name, value),
      tx.now,
      iid,
    )
  }
}

/** Removes the labels of an instance that is being removed. */
export function removeLabels(
  tx: Transaction,
  { iid, createdAt, labels }: { iid: Iid; createdAt: number; labels: string },
): void {
  if (labels === '{}') return
  for (const [name, value] of Object.entries(JSON.parse(labels) as Record<string, string>)) {
    tx.sql('delete from labels where label = ? and created_at = ? and iid = ?').run(
      labelKey(name, value),
      createdAt,
      iid,
    )
  }
}
