import type { Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import { isGone, ownProcess } from '../process-place.ts'
import { sweep } from './due.ts'
import { type Leaving, putBack, remove } from './messages.ts'
import { IN_FLIGHT, standingOf, Tally } from './tally.ts'

/** Who a user of a queue is, in every later call. */
export interface Session {
  readonly queue: number
  readonly session: number
}

/** Finds or makes the queue, and enters a new user of it. */
export function openSession(
  tx: Transaction,
  name: string,
  maxAttempts: number,
): Session & { readonly standing: Standing } {
  releaseTheGone(tx)
  const queue = queueNumber(tx, name)
  const { session } = tx
    .sql('insert into sessions (process) values (?) returning session')
    .get(ownProcess()) as { session: number }
  const tally = new Tally(tx, queue)
  // What fell due while nobody looked.
  sweep({ tx, queue, session, tally }, maxAttempts)
  tally.save()
  return { queue, session, standing: standingOf(tx, queue, session, tally.counts) }
}

/** Gives back what a user has in flight, and strikes it off. */
export function closeSession(tx: Transaction, { session }: Pick<Session, 'session'>): void {
  release(tx, session)
  tx.sql('delete from sessions where session = ?').run(session)
}

/** Gives back what users in processes that have ended had in flight. */
export function releaseTheGone(tx: Transaction): void {
  for (const session of goneSessions(tx)) closeSession(tx, { session })
}

/** Users in processes that have ended. */
export function goneSessions(tx: Transaction): readonly number[] {
  const sessions = tx.sql('select session, process from sessions').all() as {
    session: number
    process: string
  }[]
  return sessions.filter(({ process }) => isGone(process)).map(({ session }) => session)
}

// The attempt counts: whoever had it may have died of it.
function release(tx: Transaction, session: number): void {
  const queues = tx.sql('select queue from queues where in_flight > 0').all() as { queue: number }[]
  for (const { queue } of queues) {
    const scope = { tx, queue, session, tally: new Tally(tx, queue) }
    const held = tx
      .sql(
        `select id, state, key, expires_at from messages
         where queue = ? and state = ${IN_FLIGHT} and due_at is not null and session = ?`,
      )
      .all(queue, session) as (Leaving & { expires_at: number | null })[]
    for (const message of held) {
      if (message.expires_at !== null && message.expires_at <= tx.now) remove(scope, message.id)
      else putBack(scope, message, 0)
    }
    scope.tally.save()
  }
}

function queueNumber(tx: Transaction, name: string): number {
  tx.sql(
    `insert into queues (name, next_id, ready, in_flight, delayed, dead) values (?, 0, 0, 0, 0, 0)
     on conflict (name) do nothing`,
  ).run(name)
  const row = tx.sql('select queue from queues where name = ?').get(name)
  return (row as { queue: number }).queue
}
