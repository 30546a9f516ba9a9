// The way of messages out of this process.
//
//   S1. What is sent to one instance arrives in the order of the calls, whatever each of them has
//       to wait for before it can be sent: they leave through one lane.
//   S2. A message is never sent twice by us: after a call whose outcome is unknown, only what the
//       store recognises is sent again.

import { Batcher } from '../../base/batcher.ts'
import type { News } from '../../store/hints.ts'
import type { StoreError } from '../../store/store-error.ts'
import type { Post, PostAnswer } from '../../store/workflow-store.ts'
import type { ClientSetup, LocalRuntime } from './client-setup.ts'
import { resend } from './resend.ts'

/** What is needed to send. */
type PostsSetup = Pick<ClientSetup, 'store' | 'clock'> & {
  readonly runtime?: Pick<LocalRuntime, 'hint'> | undefined
  /** Tells other processes, where there is no runtime that would. */
  tell?(news: News): void
}

/** Sends posts in batches, in order. */
export class Posts {
  readonly #setup: PostsSetup
  readonly #batches: Batcher<Post, PostAnswer>
  /** By id: settles when the last post for it has been handed over. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(setup: PostsSetup) {
    this.#setup = setup
    this.#batches = new Batcher((posts) => this.#send(posts))
  }

  /** Sends what `prepare` makes, behind all that was sent to this id before. */
  async post(id: string, prepare: () => Promise<Post>): Promise<PostAnswer> {
    const before = this.#tails.get(id)
    const handedOver = Promise.all([prepare(), before]).then(([post]) => ({
      answer: this.#batches.call(post),
    }))
    // One that cannot be prepared must not let the next one overtake those before it.
    const tail = Promise.allSettled([handedOver, before])
    this.#tails.set(id, tail)
    void tail.then(() => this.#tails.get(id) === tail && this.#tails.delete(id))
    const { answer } = await handedOver
    return answer
  }

  async #send(posts: readonly Post[]): Promise<readonly PostAnswer[]> {
    const { store, clock, runtime } = this.#setup
    const isSafe = ({ code }: StoreError): boolean => code === 'busy' || posts.every(isRecognised)
    const answers = await resend(clock, () => store.post(posts), isSafe)
    const sent = answers.filter(({ verdict }) => verdict === 'sent')
    if (sent.length === 0) return answers
    if (runtime !== undefined) runtime.hint(sent)
    else this.#setup.tell?.({ kind: 'mail', iids: sent.map(({ iid }) => iid) })
    return answers
  }
}

function isRecognised({ kind, dedupeKey }: Post): boolean {
  return kind !== 'message' || dedupeKey !== ''
}
