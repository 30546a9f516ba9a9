import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'

/** The instances that share a limit. */
export interface Line {
  readonly workflow: number
  readonly limitKey: string
}

const FIRST = `
select iid from admissions
where workflow = ? and limit_key = ? and state = 'waiting'
order by priority desc, since, iid
limit ?`

/** The first that wait in a line: by priority, then in the order of their starts. */
export function firstInLine(tx: Transaction, line: Line, limit: number): readonly Iid[] {
  const { workflow, limitKey } = line
  return (tx.sql(FIRST).all(workflow, limitKey, limit) as { iid: Iid }[]).map(({ iid }) => iid)
}

const WAKE = `
update runs set wake_at = ?
where iid = ? and (wake_at is null or wake_at > ?)`

/** Has a line judged at a time. Returns the instance that is due then, if it was not due anyway. */
export function wakeLine(tx: Transaction, line: Line, at: number): Iid | undefined {
  const [first] = firstInLine(tx, line, 1)
  return first !== undefined && tx.sql(WAKE).run(at, first, at) > 0 ? first : undefined
}
