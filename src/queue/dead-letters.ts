import { number, resolveOptions } from '../base/options.ts'
import type { QueueRecord } from '../store/queue-store.ts'
import { checkIds } from './ids.ts'
import type { DeadLetter, DeadLetters } from './queue.ts'
import type { QueueCore, QueueSetup } from './queue-core.ts'
import { toStored } from './records.ts'

/** The dead letters of a queue. */
export function deadLetters<T>(
  { codec, store }: Pick<QueueSetup<T>, 'codec' | 'store'>,
  core: Pick<QueueCore<T>, 'checkOpen' | 'changeAll'>,
): DeadLetters<T> {
  return {
    async list(given) {
      core.checkOpen('dead letters')
      const { limit, after } = resolveOptions('queue dead letters', given, {
        limit: number({ min: 1, integer: true }, 100),
        after: number({ min: -1, integer: true }, -1),
      })
      const records: QueueRecord[] = []
      // Pages of large records are shorter than they might be; the last one is empty.
      while (records.length < limit) {
        const last = records.at(-1)?.id ?? after
        const page = await store.page({ after: last, limit: limit - records.length, dead: true })
        if (page.length === 0) break
        records.push(...page)
      }
      return records.map((record): DeadLetter<T> => {
        // Not by spreading, which would read the data of one that cannot be read.
        const reason = { value: record.reason, enumerable: true }
        const stored = toStored(codec, record)
        return Object.defineProperty(stored, 'reason', reason) as DeadLetter<T>
      })
    },
    async retry(ids) {
      return core.changeAll('retry', checkIds('queue dead letters: retry', ids))
    },
    async discard(ids) {
      return core.changeAll('discard', checkIds('queue dead letters: discard', ids))
    },
  }
}
