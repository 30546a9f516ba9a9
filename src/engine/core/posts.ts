// The way of messages out of this process.
//
//   S1. What is sent to one instance arrives in the order of the calls, whatever each of them has
//       to wait for before it can be sent: they leave through one lane.
//   S2. A message is never sent twice by us: after a call whose outcome is unknown, only what the
//       store recognises is sent again.
//   S3. What another transaction blocks, and what is sent to the same id meanwhile, waits for that
//       transaction by itself; everything else goes on.

import type { Abortable } from '../../base/sync/on-abort.ts'
import { AGAIN, Batcher } from '../../base/sync/batcher.ts'
import type { Logger } from '../../base/log.ts'
import type { News } from '../../store/hints.ts'
import type { Post, PostAnswer } from '../../store/inbox.ts'
import { bytesOfPost, MAX_CALL_BYTES } from '../../store/sizes.ts'
import { isRejected, StoreError } from '../../store/store-error.ts'
import { Blocked } from './blocked.ts'
import type { ClientSetup, LocalRuntime } from './local-runtime.ts'
import { resend } from './resend.ts'

/** What is needed to send. */
type PostsSetup = Pick<ClientSetup, 'store' | 'clock'> & {
  readonly log: Logger
  readonly runtime?: Pick<LocalRuntime, 'hint'> | undefined
  /** Grows when what was to be sent before may have lost its cause. */
  rollBacks?(): number
  /** Tells other processes, where there is no runtime that would. */
  tell?(news: News): void
}

/** A post, and how often causes had been lost when it was asked for. */
interface Waiting {
  readonly post: Post
  readonly since: number
  readonly signal: Abortable | undefined
}

/** What became of a post, or what will, for one that waits for another transaction. */
interface Answered {
  readonly answer: PostAnswer | Promise<PostAnswer>
}

/** Sends posts in batches, in order. */
export class Posts {
  readonly #setup: PostsSetup
  readonly #batches: Batcher<Waiting, Answered>
  readonly #blocked: Blocked<Waiting, PostAnswer>
  /** By id: settles when the last post for it has been handed over. */
  readonly #tails = new Map<string, Promise<unknown>>()

  constructor(setup: PostsSetup) {
    this.#setup = setup
    this.#batches = new Batcher((waiting) => this.#sendAll(waiting), {
      maxBytes: MAX_CALL_BYTES,
      bytesOf: ({ post }) => bytesOfPost(post),
      splitsOn: isRejected,
    })
    this.#blocked = new Blocked(
      {
        clock: setup.clock,
        log: setup.log,
        what: 'message',
        random: Math.random,
        idOf: ({ post }) => post.id,
        bytesOf: ({ post }) => bytesOfPost(post),
        send: (waiting) => this.#send(waiting, true),
        isLocked: ({ verdict }) => verdict === 'locked',
        isUntried: ({ verdict }) => verdict === 'untried',
      },
      MAX_CALL_BYTES,
    )
  }

  /** Tells those who wait for another transaction that nothing is sent any more. */
  close(error: Error): void {
    this.#blocked.close(error)
  }

  /**
   * Sends what `prepare` makes, behind all that was sent to this id before. The signal takes back what
   * is blocked.
   */
  async post(id: string, prepare: () => Promise<Post>, signal?: Abortable): Promise<PostAnswer> {
    const since = this.#rollBacks
    const before = this.#tails.get(id)
    const handedOver = Promise.all([prepare(), before]).then(([post]) => ({
      answered: this.#batches.call({ post, since, signal }),
    }))
    // One that cannot be prepared must not let the next one overtake those before it.
    const tail = Promise.allSettled([handedOver, before])
    this.#tails.set(id, tail)
    void tail.then(() => this.#tails.get(id) === tail && this.#tails.delete(id))
    const { answered } = await handedOver
    const { answer } = await answered
    return answer
  }

  get #rollBacks(): number {
    return this.#setup.rollBacks?.() ?? 0
  }

  async #sendAll(waiting: readonly Waiting[]): Promise<readonly (Answered | typeof AGAIN)[]> {
    const free = waiting.filter(({ post }) => !this.#blocked.has(post.id))
    const answers = free.length === 0 ? [] : await this.#send(free, false)
    const byPost = new Map(free.map(({ post }, i) => [post, answers[i]!]))
    return waiting.map((one) => {
      const answer = byPost.get(one.post)
      if (answer?.verdict === 'untried') return AGAIN
      if (answer !== undefined && answer.verdict !== 'locked') return { answer }
      return { answer: this.#blocked.wait(one, one.signal) }
    })
  }

  async #send(waiting: readonly Waiting[], wereLocked: boolean): Promise<readonly PostAnswer[]> {
    const { store, clock, runtime } = this.#setup
    const tells = runtime === undefined
    const posts = waiting.map(({ post }) => post)
    const haveCause = (): boolean => waiting.every(({ since }) => since === this.#rollBacks)
    const send = async (): Promise<readonly PostAnswer[]> => {
      // Asked each time: a promotion may be noticed while this waits for its next try.
      if (haveCause()) return store.post(posts, { tells, wereLocked })
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

/** The error for a store that says `locked` where that is waited for before. */
export function stillLocked(verb: string, id: string): StoreError {
  return new StoreError(
    'locked',
    verb,
    `another transaction has locked id "${id}"; try again later`,
  )
}
