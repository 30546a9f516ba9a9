import type { Post, PostAnswer } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import { type PostFindings, verdictOnPost } from '../../store/verdicts.ts'
import type { Transaction } from '../file/database.ts'
import { insertUnstarted, keepUnstarted, STATUS } from './unstarted.ts'
import { unstartedIsFull, PARKED, putIntoInbox } from './inbox.ts'
import { parkUnread } from './park-mail.ts'

/** The instance that a post is for. */
interface Target {
  readonly iid: Iid
  readonly status: PostFindings['status']
  readonly owner: number | null
  /** How many messages wait for its start, if it was never started. */
  readonly early: number
}

const TARGET = `
select instances.iid as iid, ${STATUS} as status, owner, early
from instances left join runs on runs.iid = instances.iid
where id = ?`

// Mail does not wake an instance that never ran. A request to end it need not wait for its time.
const WAKE_UNRUN = `
update runs set wake_at = iif(held, null, ?), due_at = iif(held, ?, null)
where iid = ? and epoch = 0 and owner is null and (wake_at is not null or held or admitted = 0)`

// Counts no further than it has to: a full channel may have many.
const WAITING = `
select count(*) as count
from (select 1 from inbox where iid = ? and kind = ? and name = ? limit ?)`

/** Puts messages into inboxes, one after the other. */
export function post(tx: Transaction, posts: readonly Post[]): readonly PostAnswer[] {
  return posts.map((item) => postOne(tx, item))
}

function postOne(tx: Transaction, item: Post): PostAnswer {
  const found = tx.sql(TARGET).get(item.id) as Target | undefined
  const target = found ?? ({ iid: item.iid, status: 'unstarted', owner: null, early: 0 } as const)
  const { iid, owner, status } = target
  // All judgement comes before the first write: what is refused leaves no trace.
  const verdict = verdictOnPost(item, findingsOf(tx, item, target))
  if (verdict === 'unknown') return { verdict, iid: 0, owner: null }
  if (verdict !== 'sent') return { verdict, iid: found?.iid ?? 0, owner }
  const isStarted = status !== 'unstarted'
  if (found === undefined) insertUnstarted(tx, iid, item.id)
  else if (!isStarted) keepUnstarted(tx, iid)
  const reads = isStarted && (owner !== null || !parkUnread(tx, iid))
  // Otherwise claims and ticks would read mail that cannot be claimed, again and again.
  const parked = isStarted ? PARKED.unread : PARKED.untilStart
  putIntoInbox(tx, iid, item, reads ? PARKED.no : parked)
  if (item.kind !== 'message') tx.sql(WAKE_UNRUN).run(tx.now, tx.now, iid)
  if (item.dedupeKey !== '') {
    tx.sql('insert into posted (iid, key) values (?, ?)').run(iid, item.dedupeKey)
  }
  return { verdict, iid, owner }
}

function findingsOf(tx: Transaction, { kind, name }: Post, target: Target): PostFindings {
  const { iid, status, early } = target
  return {
    status,
    unstarted: early,
    wasPosted: (key) =>
      tx.sql('select 1 from posted where iid = ? and key = ?').get(iid, key) !== undefined,
    waiting: (limit) =>
      (tx.sql(WAITING).get(iid, kind, kind === 'message' ? name : '', limit) as { count: number })
        .count,
    isUnstartedFull: () => unstartedIsFull(tx),
  }
}
