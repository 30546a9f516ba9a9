import { StoreError } from '../store/store-error.ts'
import type {
  BatchAnswer,
  PageRequest,
  QueueBatch,
  QueueRecord,
  QueueStore,
  QueueState,
} from '../store/queue-store.ts'
import type { SqliteThread } from './thread/thread.ts'
import { packBatch } from './queue/packed-batch.ts'
import { unpackAnswer } from './queue/packed-answer.ts'
import { unpackRecords } from './queue/packed-records.ts'
import type { Session } from './queue/users.ts'

/** What is needed of a thread. */
export type Thread = Pick<SqliteThread, 'call' | 'close'>

/** A queue in an SQLite file. `operations.ts` has what each method does. */
export class SqliteQueueStore implements QueueStore {
  readonly #thread: Thread
  readonly #name: string
  #session: Session | undefined
  #clockOffsetMs = 0

  constructor(thread: Thread, name: string) {
    this.#thread = thread
    this.#name = name
  }

  /** Moves this store's clock, for tests. Others on the same file keep theirs. */
  advanceClock(ms: number): void {
    this.#clockOffsetMs += ms
  }

  async open(maxAttempts: number): Promise<QueueState> {
    const args = [this.#name, maxAttempts] as [string, number]
    const opened = await this.#thread.call('queueOpen', args, this.#clockOffsetMs)
    const { queueState, ...session } = opened
    this.#session = session
    return queueState
  }

  async apply(batch: QueueBatch): Promise<BatchAnswer> {
    const { durable } = batch
    const request = { ...this.#own('apply'), batch: packBatch(batch), durable }
    const answer = unpackAnswer(
      await this.#thread.call('queueApply', [request], this.#clockOffsetMs),
    )
    // No call waits for it. If it fails, the next batch asks for it again.
    if (answer.mustEmptyWal) this.#thread.call('queueEmptyWal', []).catch(() => {})
    return answer
  }

  async look(): Promise<QueueState> {
    const own = this.#own('look')
    const { queueState, mustReclaim } = await this.#thread.call(
      'queueLook',
      [own],
      this.#clockOffsetMs,
    )
    if (!mustReclaim) return queueState
    const events = await this.#thread.call('queueReclaimDead', [own], this.#clockOffsetMs)
    const again = await this.#thread.call('queueLook', [own], this.#clockOffsetMs)
    return { ...again.queueState, events }
  }

  async find(id: number): Promise<QueueRecord | undefined> {
    const { queue } = this.#own('find')
    return unpackRecords(await this.#thread.call('queueFind', [queue, id]))[0]
  }

  async page(request: PageRequest): Promise<readonly QueueRecord[]> {
    const { queue } = this.#own('page')
    return unpackRecords(await this.#thread.call('queuePage', [queue, request]))
  }

  async close(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    try {
      if (session !== undefined) await this.#leave(session)
    } finally {
      await this.#thread.close()
    }
  }

  async #leave(session: Session): Promise<void> {
    try {
      await this.#thread.call('queueClose', [session], this.#clockOffsetMs)
    } catch (error) {
      // The lock must not outlive the queue, even where the thread does.
      await this.#thread.call('queueUnlock', [session]).catch(() => {})
      throw error
    }
  }

  #own(operation: string): Session {
    if (this.#session !== undefined) return this.#session
    throw new StoreError('closed', `sqlite ${operation}`, 'the queue is not open')
  }
}
