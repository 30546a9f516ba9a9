import type { Claim, Loaded, CachedInstance, LoadRequest } from '../../store/claims.ts'
import { MAX_MAIL_BYTES } from '../../store/constants.ts'
import type { InboxRow } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
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

// Without the texts, which may be more than fits into memory.
const INBOX_SIZES = `
select id, kind, execution, command, name, reply_to as replyTo, parked,
  octet_length(payload) as bytes
from inbox
where iid = ?
order by id`

const PAYLOAD = 'select payload from inbox where iid = ? and id = ?'

interface InboxSize extends Omit<InboxRow, 'parked' | 'payload'> {
  readonly parked: number
  readonly bytes: number
}

/** Reads instances with the history of their current execution and all that waits for them. */
export function load(tx: Transaction, wanted: readonly LoadRequest[]): readonly Loaded[] {
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
  const sizes = tx.sql(INBOX_SIZES).all(iid) as InboxSize[]
  if (sizes.length === 0) return []
  if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_MAIL_BYTES) {
    return partOf(tx, iid, sizes)
  }
  const rows = tx.sql(INBOX).all(iid) as (Omit<InboxRow, 'parked'> & { parked: number })[]
  return rows.map((row) => ({ ...row, parked: row.parked !== 0 }))
}

/** The texts of as much of each channel as is read at once. */
function partOf(tx: Transaction, iid: Iid, sizes: readonly InboxSize[]): readonly InboxRow[] {
  const read = new Map<string, number>()
  return sizes.map(({ bytes, parked, ...row }) => {
    const sum = (read.get(row.name) ?? 0) + bytes
    if (row.kind === 'message') read.set(row.name, sum)
    const isRead = row.kind !== 'message' || sum <= Math.max(MAX_MAIL_BYTES, bytes)
    const text = isRead ? (tx.sql(PAYLOAD).get(iid, row.id) as { payload: string }) : null
    return { ...row, payload: text && text.payload, parked: parked !== 0 }
  })
}

/** Which of these instances in memory the store still has, for this owner. */
export function verify(
  tx: Transaction,
  runtime: number,
  copies: readonly CachedInstance[],
): { readonly server: string; readonly same: readonly boolean[] } {
  const same = copies.map(({ iid, epoch, execution, turn }) => {
    const run = tx
      .sql('select 1 from runs where iid = ? and owner = ? and epoch = ?')
      .get(iid, runtime, epoch)
    if (run === undefined) return false
    // There may be one turn more: its own, whose answer has not arrived.
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
    .sql('select iid, epoch, attempts as deaths, doing from runs where owner = ? order by iid')
    .all(runtime) as Omit<Claim, 'execution' | 'turn'>[]
  return rows.map((row) => ({ ...row, ...lastTurn(tx, row.iid) }))
}
