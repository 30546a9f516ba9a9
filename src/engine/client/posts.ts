// The way of messages out of this process.
//
//   S1. What is sent to one instance arrives in the order of the calls, whatever each of them has
//       to wait for before it can be sent: they leave through one lane.
//   S2. A message is never sent twice by us: after a call whose outcome is unknown, only what the
//       store recognises is sent again.

import { Batcher } from '../../base/batcher.ts'
import type { News } from '../../store/hints.ts'
import type { Post, PostAnswer } from '../../store/inbox.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ClientSetup, LocalRuntime } from './client-setup.ts'
import { resend } from './resend.ts'

/** What is needed to send. */
type PostsSetup = Pick<ClientSetup, 'store' | 'clock'> & {
  readonly runtime?: Pick<LocalRuntime, 'hint'> | undefined
  /** Grows when what was to be sent before may have lost its cause. */
  setBacks?(): number
  /** Tells other processes, where there is no runtime that would. */
  tell?(news: News): void
}

/** A post, and how often causes had been lost when it was asked for. */
interface Waiting {
  readonly post: Post
  readonly since: number
}

/** Sends posts in batches, in order. */
export class Posts {
  readonly #setup: PostsSetup
  readonly #batches: Batcher<Waiting, PostAnswer>
  /** By id: settles when the last post for it has been handed over. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(setup: PostsSetup) {
    this.#setup = setup
    this.#batches = new Batcher((waiting) => this.#send(waiting))
  }

  /** Sends what `prepare` makes, behind all that was sent to this id before. */
  async post(id: string, prepare: () => Promise<Post>): Promise<PostAnswer> {
    const since = this.#setBacks
    const before = this.#tails.get(id)
    const handedOver = Promise.all([prepare(), before]).then(([post]) => ({
      answer: this.#batches.call({ post, since }),
    }))
    // One that cannot be prepared must not let the next one overtake those before it.
    const tail = Promise.allSettled([handedOver, before])
    this.#tails.set(id, tail)
    void tail.then(() => this.#tails.get(id) === tail && this.#tails.delete(id))
    const { answer } = await handedOver
    return answer
  }

  get #setBacks(): number {
    return this.#setup.setBacks?.() ?? 0
  }

  async #send(waiting: readonly Waiting[]): Promise<readonly PostAnswer[]> {
    const { store, clock, runtime } = this.#setup
    const tells = runtime === undefined
    const posts = waiting.map(({ post }) => post)
    const haveCause = (): boolean => waiting.every(({ since }) => since === this.#setBacks)
    const send = async (): Promise<readonly PostAnswer[]> => {
      // Asked each time: a promotion may be noticed while this waits for its next try.
      if (haveCause()) return store.post(posts, { tells })
      throw new StoreError('connection_lost', 'post', 'the server is another one')
    }
    let isSentAgain = false
    const isSafe = ({ code }: StoreError): boolean => {
      if (!haveCause()) return false
      if (code === 'busy' || code === 'locked') return true
      isSentAgain = true
      return posts.every(isRecognised)
    }
    const answers = await resend(clock, send, isSafe)
    // One that was sent before, though nobody knew, has to be told of as well.
    const sent = answers.filter(
      ({ verdict }) => verdict === 'sent' || (isSentAgain && verdict === 'duplicate'),
    )
    if (sent.length === 0) return answers
    if (runtime !== undefined) runtime.hint(sent)
    else {
      const untold = sent.filter(({ isTold }) => isTold !== true)
      if (untold.length > 0)
        this.#setup.tell?.({ kind: 'mail', iids: untold.map(({ iid }) => iid) })
    }
    return answers
  }
}

function isRecognised({ kind, dedupeKey }: Post): boolean {
  return kind !== 'message' || dedupeKey !== ''
}
