import type { Terminated, Termination } from '../../store/admin.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { leaveLine } from './admissions.ts'
import { closeChildren } from './children.ts'
import { endInstance } from './ends.ts'
import { appendTurn } from './history.ts'

interface Unfinished {
  readonly iid: Iid
  readonly execution: number
  readonly epoch: number
  readonly child: number
  readonly admitted: number | null
}

const UNFINISHED = `
select instances.iid as iid, execution, epoch, child, admitted
from instances join runs on runs.iid = instances.iid
where id = ?`

const LAST = `
select turn, at, first + count as next
from history
where iid = ? and execution = ?
order by turn desc
limit 1`

const RELATED = `
select parent_iid as iid from instances where iid = ? and parent_iid is not null and on_close <> 'independent'
union all
select iid from instances
where parent_iid = ? and status = 'running' and on_close in ('cancel', 'terminate')`

/** Ends unfinished instances at once, whichever runtime owns them. */
export function terminate(tx: Transaction, terminations: readonly Termination[]): Terminated {
  const mail: Iid[] = []
  const woken: Iid[] = []
  let hadTasks = false
  const ended = terminations.map((item) => {
    const found = tx.sql(UNFINISHED).get(item.id) as Unfinished | undefined
    if (found === undefined) return false
    const { iid } = found
    hadTasks ||= tx.sql('select 1 from tasks where iid = ? limit 1').get(iid) !== undefined
    const next = terminateOne(tx, found, item)
    if (next !== undefined) woken.push(next)
    for (const related of tx.sql(RELATED).all(iid, iid) as { iid: Iid }[]) mail.push(related.iid)
    return true
  })
  return { ended, mail, hadTasks, woken }
}

/** Ends an instance. Returns one that is due because of it. */
function terminateOne(
  tx: Transaction,
  found: Unfinished,
  { output, events }: Termination,
): Iid | undefined {
  const { iid, execution, epoch, child, admitted } = found
  const last = tx.sql(LAST).get(iid, execution) as
    | { turn: number; at: number; next: number }
    | undefined
  const { turn, at, next } = last ?? { turn: 0, at: 0, next: 1 }
  // Under an epoch of its own: the owner must not take this turn for one that it wrote.
  appendTurn(tx, iid, epoch + 1, {
    execution,
    turn: turn + 1,
    at: Math.max(at, tx.now),
    first: next,
    count: 1,
    events,
  })
  closeChildren(tx, iid, execution, 'all')
  endInstance(tx, iid, { status: 'terminated', output }, child === 1)
  return admitted === null ? undefined : leaveLine(tx, iid)
}
