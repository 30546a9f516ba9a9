import { describe } from '../base/describe.ts'
import { flag, number, oneOf, option, resolveOptions } from '../base/options.ts'
import { TimeoutError } from '../base/errors.ts'
import { childLog } from '../base/log.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { checkSignal } from '../base/sync/signal.ts'
import { catchRejection } from '../base/thenable.ts'
import { sleep } from '../base/time/clock.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import type { ClientAccess } from '../store/client-access.ts'
import { checkOutboxPrefix, DEFAULT_OUTBOX_PREFIX } from '../store/outbox-prefix.ts'
import type {
  NewMessage,
  OutboxInTransaction as StoreInTransaction,
  OutboxStore,
} from '../store/outbox-store.ts'
import { deadLetters, type DeadLetters } from './dead-letters.ts'
import { type EncodedMessage, encodeMessages, type EnqueueItem, placed } from './enqueue.ts'
import { resolveHandler, type ResolvedHandler } from './handle-options.ts'
import type { Handler, HandleOptions } from './handlers.ts'
import type { Outbox, OutboxHealth, OutboxInTransaction, OutboxStats } from './outbox.ts'
import { PartitionTurns } from './partition-turns.ts'
import { type Profile, PROFILES } from './profiles.ts'
import { Running } from './running.ts'
import { definitionOf, type TopicDefinition } from './topic.ts'
import { Topics } from './topics.ts'
import { withTrace } from './tracer.ts'

/** Options of an outbox. */
export interface OutboxOptions {
  /**
   * What the names of its tables begin with. Each prefix is an outbox of its own.
   *
   * @default 'outbox'
   */
  prefix?: string
  /** Defaults for all handlers. @default 'default' */
  profile?: Profile
  /** The largest payload, in bytes of its encoded form. @default 1048576 */
  maxPayloadBytes?: number
  /** For how long dedupe keys are remembered. @default '1d' */
  dedupeWindow?: Duration
  /** For how long dead letters are kept after they were resolved or discarded. @default '30d' */
  deadLetterRetention?: Duration
}

/** What one call of `enqueue` or `enqueueMany` stores. */
interface EncodedCall {
  readonly topic: TopicDefinition
  readonly messages: readonly EncodedMessage[]
}

const NO_NOTIFICATIONS = { state: 'off', interruptions: 0 } as const
const MIN_POLL_MS = 5
const MAX_POLL_MS = 250
const DAY_MS = 86_400_000

/** An outbox on the database of a client. */
export class OutboxService implements Outbox {
  readonly deadLetters: DeadLetters
  readonly #access: ClientAccess
  readonly #store: OutboxStore
  readonly #topics: Topics
  readonly #profile: Profile
  readonly #maxPayloadBytes: number
  readonly #turns = new PartitionTurns()
  readonly #keep: { readonly keysMs: number; readonly lettersMs: number }
  readonly #handlers = new Map<string, { topic: TopicDefinition; handler: ResolvedHandler }>()
  readonly #totals = { delivered: 0, retried: 0, dead: 0, expired: 0 }
  #opened: Promise<void> | undefined
  #running: Running | undefined
  #started: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  /** Takes this outbox off the list of what the client stops. */
  #leave: (() => void) | undefined
  /** Transactions whose end is waited for, and what they added. */
  readonly #ending = new WeakMap<
    StoreInTransaction,
    { readonly topics: Set<string>; readonly messages: NewMessage[] }
  >()

  constructor(access: ClientAccess, options: OutboxOptions | undefined) {
    const given = resolveOptions('outbox', options, {
      prefix: option(checkOutboxPrefix, DEFAULT_OUTBOX_PREFIX),
      profile: oneOf(PROFILES, 'default'),
      maxPayloadBytes: number({ min: 1, max: 128 << 20, integer: true }, 1 << 20),
      dedupeWindow: duration(DAY_MS),
      deadLetterRetention: duration(30 * DAY_MS),
    })
    if (access.store.outbox === undefined) {
      throw new TypeError(`outbox: the store "${access.store.kind}" has no outbox`)
    }
    this.#access = { ...access, log: childLog(access.log, { outbox: given.prefix }) }
    this.#store = access.store.outbox(given.prefix)
    this.#topics = new Topics(this.#store)
    this.#profile = given.profile
    this.#maxPayloadBytes = given.maxPayloadBytes
    this.#keep = { keysMs: given.dedupeWindow, lettersMs: given.deadLetterRetention }
    this.deadLetters = deadLetters({
      store: this.#store,
      open: () => this.#open(),
      topicNamed: (name) => this.#topics.named(name),
      topicOf: (partition) => this.#topics.of(partition),
      decode: access.decode,
      added: (partitions) => this.#running?.mark(partitions),
    })
  }

  in(tx: unknown, options?: { notify?: boolean }): OutboxInTransaction {
    const { notify } = resolveOptions('in', options, { notify: flag(true) })
    const inside = this.#store.within(tx, { notify })
    let last: Promise<unknown> = Promise.resolve()
    const enqueue = (
      owner: string,
      value: unknown,
      items: readonly EnqueueItem<unknown>[],
    ): Promise<readonly { readonly id: number; readonly isDuplicate: boolean }[]> => {
      const traced = withTrace(items, this.#access.tracing)
      // Now: as soon as this has returned, the caller may change what it has passed.
      const encoded = this.#encode(owner, value, traced)
      // It rejects this call, in its turn.
      catchRejection(encoded, () => {})
      const done = last.then(async () => this.#enqueue(inside, await encoded))
      last = done.catch(() => {})
      return done
    }
    return {
      enqueue: async (value, payload, given) => {
        if (given !== undefined && !isPlainObject(given)) {
          throw new TypeError(`enqueue: options must be a plain object, got ${describe(given)}`)
        }
        const [answer] = await enqueue('enqueue', value, [{ ...given, payload }])
        return { id: String(answer!.id), duplicate: answer!.isDuplicate }
      },
      enqueueMany: async (value, items) => {
        const answers = await enqueue('enqueueMany', value, items)
        return answers.map(({ id }) => String(id))
      },
    }
  }

  async #encode(
    owner: string,
    value: unknown,
    items: readonly EnqueueItem<unknown>[],
  ): Promise<EncodedCall> {
    const topic = definitionOf(owner, value)
    const messages = await encodeMessages(owner, topic, items, {
      encode: this.#access.encode,
      maxPayloadBytes: this.#maxPayloadBytes,
      turns: this.#turns,
    })
    return { topic, messages }
  }

  async #enqueue(
    inside: StoreInTransaction,
    { topic, messages }: EncodedCall,
  ): Promise<readonly { readonly id: number; readonly isDuplicate: boolean }[]> {
    if (messages.length === 0) return []
    if (inside.topics === undefined) await this.#prepare(inside, topic.name)
    const [row] = await this.#topics.register([topic], inside.topics)
    const added = placed(messages, row!)
    const answers = await inside.enqueue(added)
    if (inside.ended !== undefined) this.#whenEnded(inside, topic.name, added)
    return answers
  }

  /**
   * Finds the topic through the transaction itself if it can: a pool of the user may have no other connection
   * left.
   */
  async #prepare(inside: StoreInTransaction, name: string): Promise<void> {
    if (this.#topics.has(name)) return
    const rows = (await inside.findTopics?.([name])) ?? []
    if (rows.length === 0) await this.#open()
    else this.#topics.learn(rows)
  }

  /** Where the end of the transaction can be seen, this process needs no notification. */
  #whenEnded(inside: StoreInTransaction, name: string, added: readonly NewMessage[]): void {
    const waiting = this.#ending.get(inside)
    if (waiting === undefined) {
      this.#ending.set(inside, { topics: new Set([name]), messages: [...added] })
      return catchRejection(this.#afterEnd(inside), (error) => {
        // Notifications or the tick find the messages.
        this.#access.log.error({ err: error }, 'handling a hint failed')
      })
    }
    waiting.topics.add(name)
    // One by one: a call takes only so many arguments.
    for (const message of added) waiting.messages.push(message)
  }

  async #afterEnd(inside: StoreInTransaction): Promise<void> {
    await inside.ended!()
    const { topics, messages } = this.#ending.get(inside)!
    this.#ending.delete(inside)
    this.#running?.added(messages)
    // Saves time later; without it, the next transaction asks again.
    if (inside.topics !== undefined) await this.#topics.confirm(topics).catch(() => {})
  }

  handle(topic: unknown, run: unknown, options?: HandleOptions): void {
    this.#add('handle', topic, { kind: 'single', run: run as never }, options)
  }

  handleTransactional(topic: unknown, run: unknown, options?: Omit<HandleOptions, 'lease'>): void {
    const { withoutTransactions } = this.#store
    if (withoutTransactions !== undefined) {
      throw new TypeError(`handleTransactional: ${withoutTransactions}`)
    }
    this.#add('handleTransactional', topic, { kind: 'transactional', run: run as never }, options)
  }

  handleBatch(topic: unknown, run: unknown, options?: HandleOptions): void {
    this.#add('handleBatch', topic, { kind: 'batch', run: run as never }, options)
  }

  #add(verb: string, value: unknown, handler: Handler, options: HandleOptions | undefined): void {
    const topic = definitionOf(verb, value)
    const owner = `${verb}: topic "${topic.name}"`
    if (this.#started !== undefined) {
      throw new Error(`${owner}: the outbox has started; add handlers before start()`)
    }
    if (this.#handlers.has(topic.name)) throw new Error(`${owner} has a handler already`)
    this.#handlers.set(topic.name, {
      topic,
      handler: resolveHandler(owner, handler, options, this.#profile),
    })
  }

  start(): Promise<void> {
    if (this.#stopped !== undefined) {
      return Promise.reject(
        new Error('outbox: start() was called after stop(); create another one'),
      )
    }
    return (this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      throw error
    }))
  }

  async #start(): Promise<void> {
    await this.#open()
    const handled = [...this.#handlers.values()]
    const rows = await this.#topics.register(handled.map(({ topic }) => topic))
    const running = new Running(this.#access, this.#store, this.#keep, this.#totals)
    try {
      await running.start(rows.map((row, i) => ({ row, handler: handled[i]!.handler })))
    } catch (error) {
      await running.stop(0).catch(() => {})
      throw error
    }
    this.#running = running
    this.#leave = this.#access.beforeClose(() => this.stop())
  }

  #open(): Promise<void> {
    this.#opened ??= this.#access
      .open()
      .then(() => this.#store.open())
      .catch((error: unknown) => {
        this.#opened = undefined
        throw error
      })
    return this.#opened
  }

  async stats(options?: { all?: boolean }): Promise<readonly OutboxStats[]> {
    const { all } = resolveOptions('stats', options, { all: flag(false) })
    await this.#open()
    const topics = all ? await this.#store.allTopics() : this.#topics.known
    const { clock, partitions } = await this.#store.stats(topics.map(({ topic }) => topic))
    return partitions.map(({ partition, depth, ready, oldestAt }) => {
      const topic = topics.find(
        (row) => partition >= row.first && partition < row.first + row.partitions,
      )!
      return {
        topic: topic.name,
        partition: partition - topic.first,
        depth,
        oldestMs: oldestAt === null ? 0 : Math.max(0, clock - oldestAt),
        lag: ready,
      }
    })
  }

  health(): OutboxHealth {
    const running = this.#running
    return {
      state: this.#stopped !== undefined ? 'stopped' : running === undefined ? 'new' : 'running',
      workers: running?.supervisor?.health() ?? [],
      notifications: running?.listening?.health() ?? NO_NOTIFICATIONS,
      totals: { ...this.#totals },
    }
  }

  async drain(options?: { timeout?: Duration; signal?: AbortSignal }): Promise<void> {
    const { timeout, signal } = resolveOptions('drain', options, {
      timeout: duration(undefined),
      signal: option(signalOf, undefined),
    })
    await this.start()
    const { clock } = this.#access
    const failed = new AbortController()
    const signals = signal === undefined ? [failed.signal] : [failed.signal, signal]
    const ended = clock.awaited?.({
      what: 'drain of the outbox',
      fail: (error) => failed.abort(error),
    })
    try {
      await this.#drained(timeout, AbortSignal.any(signals))
    } finally {
      ended?.()
    }
  }

  async #drained(timeout: number | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this.#access
    const topics = [...this.#handlers.keys()]
    const rows = await Promise.all(topics.map((name) => this.#topics.named(name)))
    const began = clock.now()
    for (let pauseMs = MIN_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      const { partitions } = await this.#store.stats(rows.map((row) => row!.topic))
      const left = partitions.reduce((sum, { depth, delayed }) => sum + depth - delayed, 0)
      // What was settled last may not be counted yet.
      if (left === 0 && this.#running?.isDelivering !== true) return
      if (this.#stopped !== undefined && left > 0) {
        throw new Error(`drain: the outbox was stopped with ${left} messages left`)
      }
      if (timeout !== undefined && clock.now() - began >= timeout) {
        const what =
          left === 0
            ? 'the last delivery has not ended'
            : `${left === 1 ? '1 message was' : `${left} messages were`} not delivered`
        throw new TimeoutError(`drain: ${what} within ${timeout} ms`, timeout)
      }
      await sleep(clock, pauseMs, signal, 'poll')
    }
  }

  stop(options?: { within?: Duration }): Promise<void> {
    const { within } = resolveOptions('stop', options, { within: duration(30_000) })
    return (this.#stopped ??= this.#stop(within))
  }

  async #stop(within: number): Promise<void> {
    await this.#started?.catch(() => {})
    this.#leave?.()
    await this.#running?.stop(within)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

function signalOf(value: unknown): AbortSignal {
  checkSignal(value, 'drain')
  return value!
}
