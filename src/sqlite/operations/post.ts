import type { Iid, Post, PostAnswer, PostVerdict } from '../../store/workflow-store.ts'
import type { Transaction } from '../database.ts'
import { putIntoInbox } from './inbox.ts'

/** Whom a post is for. */
interface Target {
  readonly iid: Iid
  readonly status: string
  readonly owner: number | null
}

const TARGET = `
select instances.iid as iid, status, owner
from instances left join runs on runs.iid = instances.iid
where id = ?`

const INSERT_ABSENT = `
insert into instances (iid, id, execution, status, created_at, updated_at)
values (?, ?, 0, 'absent', ?, ?)`

// One that was never run is not woken by mail. The wish for its end need not wait for its time.
const WAKE_UNRUN = `
update runs set wake_at = ?
where iid = ? and epoch = 0 and owner is null and wake_at is not null`

const WAITING = 'select 1 from inbox where iid = ? and kind = ? limit 1'

// Counts no further than it has to: a full channel may hold many.
const CHANNEL = `
select count(*) as count
from (select 1 from inbox where iid = ? and kind = 'message' and name = ? limit ?)`

/** Puts messages into inboxes, one after the other. */
export function post(tx: Transaction, posts: readonly Post[]): readonly PostAnswer[] {
  return posts.map((item) => postOne(tx, item))
}

function postOne(tx: Transaction, item: Post): PostAnswer {
  const found = tx.sql(TARGET).get(item.id) as Target | undefined
  const isStarted = found !== undefined && found.status !== 'absent'
  if (item.kind !== 'message' && !isStarted) return { verdict: 'unknown', iid: 0, owner: null }
  const { iid, owner } = found ?? { iid: item.iid, owner: null }
  // All judgement comes before the first write: what is refused leaves no trace.
  const refusal = refusalOf(tx, item, iid, found?.status ?? 'absent')
  if (refusal !== undefined) return { verdict: refusal, iid: found?.iid ?? 0, owner }
  if (found === undefined) tx.sql(INSERT_ABSENT).run(iid, item.id, tx.now, tx.now)
  // Parked until the start: claims would otherwise look at what nobody can claim, again and again.
  putIntoInbox(tx, iid, item, !isStarted)
  if (item.kind !== 'message') tx.sql(WAKE_UNRUN).run(tx.now, iid)
  if (item.dedupeKey !== '') {
    tx.sql('insert into posted (iid, key) values (?, ?)').run(iid, item.dedupeKey)
  }
  return { verdict: 'sent', iid, owner }
}

function refusalOf(
  tx: Transaction,
  { kind, name, dedupeKey, capacity }: Post,
  iid: Iid,
  status: string,
): PostVerdict | undefined {
  if (status !== 'running' && status !== 'absent') return 'ended'
  if (dedupeKey !== '' && wasPosted(tx, iid, dedupeKey)) return 'duplicate'
  if (kind !== 'message') {
    return tx.sql(WAITING).get(iid, kind) === undefined ? undefined : 'duplicate'
  }
  if (capacity === null) return undefined
  const { count } = tx.sql(CHANNEL).get(iid, name, capacity) as { count: number }
  return count >= capacity ? 'full' : undefined
}

function wasPosted(tx: Transaction, iid: Iid, key: string): boolean {
  return tx.sql('select 1 from posted where iid = ? and key = ?').get(iid, key) !== undefined
}
