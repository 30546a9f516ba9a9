import { expect, test } from 'vitest'

import { virtualClock } from '../../testing/virtual-clock.ts'
import type { Announcement } from '../../store/hints.ts'
import type { Post, PostAnswer } from '../../store/inbox.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { memoryLog } from '../../../test/support/workers.ts'
import { Posts } from './posts.ts'

test('a client announces what the store did not announce itself', async () => {
  const { posts, announced, asked } = scene([{ isNotified: true }, {}])

  await Promise.all([posts.post('a', message('a', 1)), posts.post('b', message('b', 2))])

  expect(asked).toEqual([{ notify: true, wereLocked: false }])
  expect(announced).toEqual([{ kind: 'mail', iids: [2] }])
})

test('a call carries about a megabyte, or one message that is larger', async () => {
  const { posts, sizes } = scene([])
  const lengths = [400_000, 400_000, 400_000, 2_000_000, 10]

  await Promise.all(
    lengths.map((length, n) =>
      posts.post('a', async () => ({ ...(await message('a', n)()), payload: 'x'.repeat(length) })),
    ),
  )

  expect(sizes).toEqual([[400_000], [400_000, 400_000], [2_000_000], [10]])
})

test('a client announces nothing when the store has announced everything', async () => {
  const { posts, announced } = scene([{ isNotified: true }])

  await posts.post('a', message('a', 1))

  expect(announced).toEqual([])
})

test('a runtime announces its posts itself: it knows which processes need the hint', async () => {
  const hinted: number[] = []
  const hint = (targets: readonly PostAnswer[]): void => {
    hinted.push(...targets.map(({ iid }) => iid))
  }
  const { posts, announced, asked } = scene([{}], { hint })

  await posts.post('a', message('a', 1))

  expect(asked).toEqual([{ notify: false, wereLocked: false }])
  expect(hinted).toEqual([1])
  expect(announced).toEqual([])
})

/** A store whose answers say `more`, one after the other. */
function scene(
  more: readonly Partial<PostAnswer>[],
  runtime?: { hint(targets: readonly PostAnswer[]): void },
) {
  const announced: Announcement[] = []
  const asked: unknown[] = []
  const sizes: number[][] = []
  const store: Pick<WorkflowStore, 'post'> = {
    async post(given, options) {
      asked.push(options)
      sizes.push(given.map(({ payload }) => payload.length))
      return given.map(({ iid }, i) => ({ verdict: 'sent', iid, owner: 7, ...more[i] }))
    },
  }
  const posts = new Posts({
    store: store as WorkflowStore,
    clock: virtualClock(),
    log: memoryLog(),
    runtime,
    announce: (one) => void announced.push(one),
  })
  return { posts, announced, asked, sizes }
}

function message(id: string, iid: number): () => Promise<Post> {
  const channel = { kind: 'message', name: 'notes', capacity: null } as const
  return async () => ({ ...channel, id, iid, payload: 'x', replyTo: '', dedupeKey: '' })
}
