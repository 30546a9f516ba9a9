import { MAX_UNSTARTED_MESSAGES } from '../../store/constants.ts'
import type { Post, PostAnswer, PostVerdict } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../database.ts'
import { insertAbsent, keepAbsent } from './absent.ts'
import { earlyIsFull, putIntoInbox } from './inbox.ts'

/** Whom a post is for. */
interface Target {
  readonly iid: Iid
  readonly status: string
  readonly owner: number | null
  /** How many messages wait for its start, if it was never started. */
  readonly early: number
}

const TARGET = `
select instances.iid as iid, status, owner, early
from instances left join runs on runs.iid = instances.iid
where id = ?`

// One that was never run is not woken by mail. The wish for its end need not wait for its time.
const WAKE_UNRUN = `
update runs set wake_at = iif(held, null, ?), due_at = iif(held, ?, null)
where iid = ? and epoch = 0 and owner is null and (wake_at is not null or held)`

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
  const target = found ?? { iid: item.iid, status: 'absent', owner: null, early: 0 }
  const { iid, owner } = target
  // All judgement comes before the first write: what is refused leaves no trace.
  const refusal = refusalOf(tx, item, target)
  if (refusal !== undefined) return { verdict: refusal, iid: found?.iid ?? 0, owner }
  if (found === undefined) insertAbsent(tx, iid, item.id)
  else if (!isStarted) keepAbsent(tx, iid)
  putIntoInbox(tx, iid, item, isStarted)
  if (item.kind !== 'message') tx.sql(WAKE_UNRUN).run(tx.now, tx.now, iid)
  if (item.dedupeKey !== '') {
    tx.sql('insert into posted (iid, key) values (?, ?)').run(iid, item.dedupeKey)
  }
  return { verdict: 'sent', iid, owner }
}

function refusalOf(
  tx: Transaction,
  { kind, name, dedupeKey, capacity }: Post,
  { iid, status, early }: Target,
): PostVerdict | undefined {
  // Asked first: whoever repeats a message that arrived learns that, also when its reader has ended.
  if (dedupeKey !== '' && wasPosted(tx, iid, dedupeKey)) return 'duplicate'
  if (status !== 'running' && status !== 'absent') return 'ended'
  if (kind !== 'message') {
    return tx.sql(WAITING).get(iid, kind) === undefined ? undefined : 'duplicate'
  }
  if (capacity !== null) {
    const { count } = tx.sql(CHANNEL).get(iid, name, capacity) as { count: number }
    if (count >= capacity) return 'full'
  }
  if (status !== 'absent') return undefined
  return early >= MAX_UNSTARTED_MESSAGES || earlyIsFull(tx) ? 'full' : undefined
}

function wasPosted(tx: Transaction, iid: Iid, key: string): boolean {
  return tx.sql('select 1 from posted where iid = ? and key = ?').get(iid, key) !== undefined
}
