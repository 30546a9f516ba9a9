import type { NewMessage, OutboxInTransaction } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import type { UserTransaction } from '../transactions/user-transaction.ts'
import { APPLICATION_ID } from '../schema/migrate.ts'
import { enqueue } from './enqueue.ts'
import { openOutbox } from './schema.ts'
import { registerTopics } from './topics.ts'

/** The outbox inside a transaction of the user; `onEnqueued` is called for each batch that is stored in it. */
export function outboxWithin(
  prefix: string,
  { within, ended }: UserTransaction,
  onEnqueued: (messages: readonly NewMessage[], clock: number) => void,
): OutboxInTransaction {
  return {
    ...(ended && { ended }),
    topics: async (topics) =>
      within((tx) =>
        allOrNothing(tx, () => {
          // While this transaction is open, no other connection can create the tables.
          checkOurs(tx)
          openOutbox(tx, prefix)
          return registerTopics(tx, prefix, topics)
        }),
      ),
    enqueue: async (messages) =>
      within((tx) => {
        const enqueued = allOrNothing(tx, () => enqueue(tx, prefix, messages))
        onEnqueued(
          messages.filter((_, i) => !enqueued[i]!.isDuplicate),
          tx.now,
        )
        return enqueued
      }),
  }
}

/** Whatever is created first decides whose file it is, and this transaction may be rolled back. */
function checkOurs(tx: Transaction): void {
  const { application_id: application } = tx.sql('pragma application_id').get() as {
    application_id: number
  }
  if (application === APPLICATION_ID) return
  throw new TypeError(
    'in: the file has no tables of holdfast yet: open a runtime or start an outbox on it before the ' +
      'first transaction',
  )
}

/** The user may go on after a failure, and commit. */
function allOrNothing<T>(tx: Transaction, work: () => T): T {
  tx.sql('savepoint holdfast_outbox').run()
  try {
    const result = work()
    tx.sql('release holdfast_outbox').run()
    return result
  } catch (error) {
    try {
      tx.sql('rollback to holdfast_outbox').run()
      tx.sql('release holdfast_outbox').run()
    } catch {
      // The failure has ended the whole transaction.
    }
    throw error
  }
}
