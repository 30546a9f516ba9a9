// Sends the messages of this process to the store.
//
//   - Messages to one instance arrive in the order of the calls, however long each of them takes to
//     prepare.
//   - Holdfast never sends a message twice: after a call whose outcome is unknown, it sends again only
//     what the store recognises as a duplicate.
//   - A message that another transaction blocks, and those that follow it to the same id, wait for that
//     transaction; all others go on.

import type { Abortable } from '../../base/sync/on-abort.ts'
import { AGAIN, Batcher } from '../../base/sync/batcher.ts'
import type { Logger } from '../../base/log.ts'
import type { Announcement } from '../../store/hints.ts'
import type { Post, PostAnswer } from '../../store/inbox.ts'
import { bytesOfPost, MAX_CALL_BYTES } from '../../store/sizes.ts'
import { isRejected, StoreError } from '../../store/store-error.ts'
import { Blocked } from './blocked.ts'
import type { ClientSetup, LocalRuntime } from './local-runtime.ts'
import { resend } from './resend.ts'

/** What sending needs. */
type PostsSetup = Pick<ClientSetup, 'store' | 'clock'> & {
  readonly log: Logger
  readonly runtime?: Pick<LocalRuntime, 'hint'> | undefined
  /** Counts the roll-backs, such as a failover, after which the turns that sent a message may be lost. */
  rollBacks?(): number
  /** Notifies other processes, in a client without a runtime. */
  announce?(announcement: Announcement): void
}

/** A post, and the number of roll-backs when it was requested. */
interface Waiting {
  readonly post: Post
  readonly since: number
  readonly signal: Abortable | undefined
}

/** The answer to a post, or a promise for it while another transaction blocks the post. */
interface Answered {
  readonly answer: PostAnswer | Promise<PostAnswer>
}

/** Sends posts in batches, in order. */
export class Posts {
  readonly #setup: PostsSetup
  readonly #batches: Batcher<Waiting, Answered>
  readonly #blocked: Blocked<Waiting, PostAnswer>
  /** By id: settles when the last post for it is in a batch. */
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

  /** Rejects the posts that another transaction blocks, and sends none of them any more. */
  close(error: Error): void {
    this.#blocked.close(error)
  }

  /**
   * Sends what `prepare` returns, after everything sent to this id before. The signal withdraws a post
   * that another transaction blocks.
   */
  async post(id: string, prepare: () => Promise<Post>, signal?: Abortable): Promise<PostAnswer> {
    const since = this.#rollBacks
    const before = this.#tails.get(id)
    const handedOver = Promise.all([prepare(), before]).then(([post]) => ({
      answered: this.#batches.call({ post, since, signal }),
    }))
    // When one cannot be prepared, the next one still has to wait for those before it.
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
    const notify = runtime === undefined
    const posts = waiting.map(({ post }) => post)
    const haveCause = (): boolean => waiting.every(({ since }) => since === this.#rollBacks)
    const send = async (): Promise<readonly PostAnswer[]> => {
      // Checked before each try: a failover may be noticed between two tries.
      if (haveCause()) return store.post(posts, { notify, wereLocked })
      throw new StoreError('connection_lost', 'post', 'the database server has changed')
    }
    let isSentAgain = false
    const isSafe = ({ code }: StoreError): boolean => {
      if (!haveCause()) return false
      if (code === 'busy' || code === 'locked') return true
      isSentAgain = true
      return posts.every(isRecognised)
    }
    const answers = await resend(clock, send, isSafe)
    // A duplicate after a lost answer was stored by the lost call, so its receiver needs a hint as well.
    const sent = answers.filter(
      ({ verdict }) => verdict === 'sent' || (isSentAgain && verdict === 'duplicate'),
    )
    if (sent.length === 0) return answers
    if (runtime !== undefined) runtime.hint(sent)
    else {
      const rest = sent.filter(({ isNotified }) => isNotified !== true)
      if (rest.length > 0)
        this.#setup.announce?.({ kind: 'mail', iids: rest.map(({ iid }) => iid) })
    }
    return answers
  }
}

function isRecognised({ kind, dedupeKey }: Post): boolean {
  return kind !== 'message' || dedupeKey !== ''
}

/** The error for a verdict `locked` that `Posts` or `Blocked` should have waited out. */
export function stillLocked(verb: string, id: string): StoreError {
  return new StoreError(
    'locked',
    verb,
    `another transaction has locked id "${id}"; try again later`,
  )
}
