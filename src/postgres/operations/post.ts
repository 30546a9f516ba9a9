// Sends messages. A row that another transaction has locked makes a batch fail after a few
// milliseconds, without any effect; then messages are sent one by one, and those whose rows are still
// locked are skipped.

import type { Post, PostAnswer, PostBatchOptions } from '../../store/inbox.ts'
import { toPostAnswers } from '../wire/answers.ts'
import type { Call } from '../wire/call.ts'
import { isLocked } from './commit.ts'
import type { postgresHints } from '../notifier/postgres-hints.ts'
import { postValues } from '../wire/post-values.ts'

type PostgresHints = ReturnType<typeof postgresHints>

/** See `WorkflowStore.post`. */
export async function postMessages(
  call: Call,
  hints: PostgresHints | undefined,
  posts: readonly Post[],
  { notify = false, wereLocked = false }: PostBatchOptions = {},
): Promise<readonly PostAnswer[]> {
  const values = postValues(posts)
  if (!wereLocked) {
    try {
      if (notify && hints !== undefined) return await postAndNotify(call, hints, posts)
      const [row] = await call('post_nowait', values)
      return toPostAnswers(row!)
    } catch (error) {
      if (!isLocked(error)) throw error
    }
  }
  const [row] = await call('post_skip_locked', values)
  return toPostAnswers(row!)
}

/** The same, with the notification of the owners right behind it. */
async function postAndNotify(
  call: Call,
  hints: PostgresHints,
  posts: readonly Post[],
): Promise<readonly PostAnswer[]> {
  const values = postValues(posts)
  let over!: (isDone: boolean) => void
  const notified = new Promise<boolean>((resolve) => (over = resolve))
  const [ids] = values as [string]
  const behind = { procedure: 'tell_mail', values: [ids, posts.length], over }
  const [row] = await call('post_nowait', values, 'other', behind)
  const answers = toPostAnswers(row!)
  // A duplicate may be one whose first answer was lost before the owner was notified.
  const waiting = answers.filter(({ verdict }) => verdict === 'sent' || verdict === 'duplicate')
  hints.announceMailUnless(
    notified,
    waiting.map(({ iid }) => iid),
  )
  return answers.map((answer) => ({ ...answer, isNotified: true }))
}
