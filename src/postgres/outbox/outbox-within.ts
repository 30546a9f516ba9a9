import type { OutboxInTransaction } from '../../store/outbox-store.ts'
import { Within } from '../transactions/within.ts'
import { joinTexts, listOf } from '../wire/lists.ts'
import { toEnqueued, toTopic } from './outbox-answers.ts'

/** The outbox inside a transaction that the user begins and commits, through any driver. */
export function outboxWithin(
  schema: string,
  prefix: string,
  tx: unknown,
  notify: boolean,
): OutboxInTransaction {
  const inside = new Within(schema, tx)
  return {
    async findTopics(names) {
      // A procedure that does not exist yet would abort the transaction.
      if (!(await inside.has(`${prefix}_find_topics`))) return []
      const values = [joinTexts('enqueue', names), String(names.length)]
      return (await inside.read(`${prefix}_find_topics`, values)).map(toTopic)
    },

    async enqueue(messages) {
      const joined = (part: (message: (typeof messages)[number]) => string | null): string =>
        joinTexts(
          'enqueue',
          messages.map((message) => part(message) ?? ''),
        )
      const answer = await inside.callDirectly(`${prefix}_enqueue`, [
        listOf(messages.map(({ partition }) => partition)),
        listOf(messages.map(({ topic }) => topic)),
        listOf(messages.map(({ delayMs }) => delayMs)),
        listOf(messages.map(({ ttlMs }) => ttlMs)),
        joined(({ key }) => key),
        joined(({ payload }) => payload),
        joined(({ headers }) => headers),
        joined(({ dedupeKey }) => dedupeKey),
        String(notify),
      ])
      return toEnqueued(answer)
    },
  }
}
