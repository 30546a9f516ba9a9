import type { Post } from '../../store/inbox.ts'
import { KIND } from './numbers.ts'
import { joinTexts, listOf } from './lists.ts'

/** What `post` takes, in its order: lists side by side, one entry per post. */
export function postValues(posts: readonly Post[]): string[] {
  return [
    textsOf(posts, ({ id }) => id),
    listOf(posts.map(({ kind }) => KIND[kind])),
    textsOf(posts, ({ name }) => name),
    textsOf(posts, ({ payload }) => payload),
    textsOf(posts, ({ replyTo }) => replyTo),
    textsOf(posts, ({ dedupeKey }) => dedupeKey),
    listOf(posts.map(({ kind, capacity }) => (kind === 'message' ? capacity : 1))),
    listOf(posts.map(({ iid }) => iid)),
  ]
}

function textsOf(posts: readonly Post[], textOf: (post: Post) => string): string {
  return joinTexts('post', posts.map(textOf))
}
