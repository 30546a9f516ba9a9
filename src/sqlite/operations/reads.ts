import type { Claim, Loaded, Standing, Wanted } from '../../store/claims.ts'
import type { InboxRow } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../database.ts'
import { lastTurn, turnsAfter } from './history.ts'
import { PARENT_COLUMNS, type ParentColumns, toParent } from './parent.ts'
import { openTasks } from './tasks.ts'

// One that was never started has no workflow, and there is nothing to run.
const HEAD = `
select id, execution, name, version, ${PARENT_COLUMNS}
from instances join workflows on workflows.workflow = instances.workflow
where iid = ?`

interface Head extends ParentColumns {
  readonly id: string
  readonly execution: number
  readonly name: string
  readonly version: string
}

const INBOX = `
select id, kind, execution, command, name, reply_to as replyTo, payload, parked
from inbox
where iid = ?
order by id`

/** Reads instances with the history of their current execution and all that waits for them. */
export function load(tx: Transaction, wanted: readonly Wanted[]): readonly Loaded[] {
  return wanted.flatMap(({ iid, after }) => {
    const head = tx.sql(HEAD).get(iid) as Head | undefined
    if (head === undefined) return []
    const { id, execution, name, version } = head
    const loaded: Loaded = {
      iid,
      id,
      workflow: { name, version },
      execution,
      parent: toParent(head),
      history: turnsAfter(tx, iid, execution, after),
      inbox: inboxOf(tx, iid),
      tasks: openTasks(tx, iid, execution),
    }
    return [loaded]
  })
}

function inboxOf(tx: Transaction, iid: Iid): readonly InboxRow[] {
  const rows = tx.sql(INBOX).all(iid) as (Omit<InboxRow, 'parked'> & { parked: number })[]
  return rows.map((row) => ({ ...row, parked: row.parked === 1 }))
}

/** Which of these copies are still what the store has, for this owner. */
export function verify(
  tx: Transaction,
  runtime: number,
  copies: readonly Standing[],
): { readonly server: string; readonly same: readonly boolean[] } {
  const same = copies.map(({ iid, epoch, execution, turn }) => {
    const run = tx
      .sql('select 1 from runs where iid = ? and owner = ? and epoch = ?')
      .get(iid, runtime, epoch)
    if (run === undefined) return false
    // There may be one turn more: the copy's own, whose answer has not reached it.
    return (
      tx
        .sql('select 1 from history where iid = ? and execution = ? and turn = ?')
        .get(iid, execution, turn) !== undefined
    )
  })
  return { server: tx.server, same }
}

/** What a runtime owns. */
export function owned(tx: Transaction, runtime: number): readonly Claim[] {
  const rows = tx
    .sql('select iid, epoch, attempts, doing from runs where owner = ? order by iid')
    .all(runtime) as Omit<Claim, 'execution' | 'turn'>[]
  return rows.map((row) => ({ ...row, ...lastTurn(tx, row.iid) }))
}
