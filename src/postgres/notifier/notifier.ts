// Receives notifications through one connection, for all listeners of one store.
//
//   - It never gives up: whatever fails is retried, with backoff and jitter.
//   - Notifications count as arriving only while a test notification, sent through another
//     connection, arrives, once a minute. Poolers accept LISTEN and forget it, a network may drop
//     packets, and after a failover the old server may still answer. While they do not arrive, for
//     whatever reason, every listener polls the store.
//   - LISTEN comes before the poll: a new listener polls once notifications arrive, and so does
//     every listener after a gap.
//   - A listener that throws or leaves does not affect the others: an error of a store that is being
//     closed says nothing about the connection.
//   - Only runtimes announce that they joined: a client has no use for what others wait for.

import { randomBytes } from 'node:crypto'

import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import { notify } from '../../base/sync/notify.ts'
import { onAbort, unlessAborted } from '../../base/sync/on-abort.ts'
import type { NotifierHealth, HintReceiver, HintSubscription } from '../../store/hints.ts'
import { type Directive, sleep as restFor } from '../../workers/directive.ts'
import { worker, type Worker } from '../../workers/worker.ts'
import type { ListenConnection, OpenListenConnection } from './listen-connection.ts'
import {
  ALL_LISTENERS,
  type Notification,
  notificationsFor,
  readPayload,
  testNotification,
} from './payload.ts'
import { FallbackPolls } from './fallback-polls.ts'

/** What the notifier needs. */
export interface NotifierSetup {
  readonly openConnection: OpenListenConnection
  readonly clock: Clock
  readonly log: Logger
}

/** How a listener calls the server, through other connections than the one that listens. */
export interface Server {
  send(notifications: readonly Notification[]): Promise<void>
  /** The name of the channel for notifications to this recipient. */
  channelOf(to: string): Promise<string>
}

const ANSWER_MS = 10_000
const TEST_MS = 5_000
// Rare enough to cost an idle server next to nothing.
const NEXT_TEST_MS = 60_000
// The shortest time between two test notifications that a failed send asks for.
const TEST_SOON_MS = 1_000
const BACKOFF = { initial: 100, max: 10_000 }
const NOT_ARRIVED = 'a test notification did not arrive'

/** A listener, as the notifier keeps it. */
interface Subscriber {
  readonly id: string
  readonly listener: HintReceiver
  readonly server: Server
  /** Whether its channels are listened to, so that it need not poll. */
  isListening: boolean
}

/** Receives hints and passes them to the listeners. */
export class Notifier {
  readonly #setup: NotifierSetup
  readonly #subscribers = new Set<Subscriber>()
  readonly #wake = notify()
  readonly #worker: Worker
  #connection: ListenConnection | undefined
  /** Channels that are listened to, by recipient. */
  readonly #channels = new Map<string, string>()
  #state: Exclude<NotifierHealth['state'], 'off'> = 'connecting'
  #interruptions = 0
  #lastError: string | undefined
  /** The test notification that was sent and has not arrived. */
  #test:
    | { readonly token: string; readonly sentMs: number; readonly subscriber: Subscriber }
    | undefined
  readonly #polls: FallbackPolls
  /** When a test notification last arrived. */
  #arrivedMs = 0
  /** Whether one arrived through this connection. */
  #hasArrived = false
  #loggedDeaf = false
  readonly #closing = new AbortController()

  constructor(setup: NotifierSetup) {
    const { clock, log } = setup
    this.#setup = setup
    this.#polls = new FallbackPolls({ clock, poll: () => this.#pollAll() })
    this.#worker = worker(
      'notifier',
      { wakeOn: [this.#wake], clock, log, backoff: BACKOFF },
      ({ stopping }) => this.#pass(stopping),
    )
  }

  /** Whether notifications arrive at present. */
  get isListening(): boolean {
    return this.#state === 'listening'
  }

  /** Adds a listener. */
  listen(listener: HintReceiver, server: Server): HintSubscription & { readonly id: string } {
    const subscriber: Subscriber = {
      id: randomBytes(8).toString('hex'),
      listener,
      server,
      isListening: false,
    }
    this.#subscribers.add(subscriber)
    if (!this.isListening) this.#polls.begin()
    this.#wake.notifyOne()
    const isListening = (): boolean => subscriber.isListening && this.isListening
    return {
      id: subscriber.id,
      get isListening() {
        return isListening()
      },
      health: () => ({
        state: this.#state === 'listening' && !subscriber.isListening ? 'connecting' : this.#state,
        interruptions: this.#interruptions,
        ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      }),
      refresh: () => {
        subscriber.isListening = false
        this.#wake.notifyOne()
      },
      close: async () => {
        this.#subscribers.delete(subscriber)
        // Its channel is about to be dropped: another listener has to send the test.
        if (this.#test?.subscriber === subscriber) this.#test = undefined
        this.#wake.notifyOne()
      },
    }
  }

  /** Notifications may not arrive at present: tests that now instead of within a minute. */
  testSoon(): void {
    if (!this.isListening || this.#test !== undefined) return
    if (this.#setup.clock.now() - this.#arrivedMs < TEST_SOON_MS) return
    this.#arrivedMs = -Infinity
    this.#wake.notifyOne()
  }

  /** Closes the connection and stops the loop. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#closing.abort(new Error('the notifier was closed'))
    this.#polls.end()
    await this.#worker.stop()
    this.#connection?.close()
  }

  async #pass(stopping: AbortSignal): Promise<Directive> {
    try {
      // Stopping does not wait for a server that does not answer.
      return await unlessAborted(this.#listen(), stopping)
    } catch (error) {
      if (this.#state !== 'closed') this.#drop(error)
      throw error
    }
  }

  async #listen(): Promise<Directive> {
    const connection = (this.#connection ??= await this.#open())
    await this.#follow(connection)
    await this.#check()
    return this.#pollAfterGap()
  }

  async #open(): Promise<ListenConnection> {
    let connection: ListenConnection | undefined
    const opened = await this.#setup.openConnection({
      received: (channel, payload) => this.#guarded(() => this.#receive(channel, payload)),
      lost: (error) => {
        // It was replaced already.
        if (connection === undefined || connection !== this.#connection) return
        this.#drop(error)
        this.#wake.notifyOne()
      },
    })
    if (this.#closing.signal.aborted) {
      opened.close()
      throw this.#closing.signal.reason as Error
    }
    connection = opened
    this.#hasArrived = false
    this.#test = undefined
    return opened
  }

  /** Gives the connection up. */
  #drop(error: unknown): void {
    const reason = reasonOf(error)
    if (this.#connection !== undefined) {
      this.#interruptions++
      this.#setup.log.warn({ reason }, 'notification connection lost; reconnecting')
      this.#setup.log.debug({ err: error }, 'notification connection lost')
    }
    this.#lastError = reason
    this.#connection?.close()
    this.#connection = undefined
    this.#channels.clear()
    if (this.#state !== 'closed') {
      this.#state = 'connecting'
      this.#polls.begin()
    }
    for (const subscriber of this.#subscribers) subscriber.isListening = false
  }

  /** Listens to the channels of all listeners, and to no others. */
  async #follow(connection: ListenConnection): Promise<void> {
    const wanted = new Map<string, Subscriber>()
    for (const subscriber of this.#subscribers) {
      for (const to of recipientsOf(subscriber)) wanted.set(to, subscriber)
    }
    for (const [to, subscriber] of wanted) {
      if (this.#channels.has(to) || !this.#subscribers.has(subscriber)) continue
      const channel = await this.#through(subscriber, (server) => server.channelOf(to))
      if (channel === undefined) continue
      await this.#answered(connection.listen(channel))
      this.#channels.set(to, channel)
    }
    for (const [to, channel] of this.#channels) {
      if (wanted.has(to)) continue
      await this.#answered(connection.unlisten(channel))
      this.#channels.delete(to)
    }
  }

  /** Calls the server for a listener; `undefined` when that fails after the listener has left. */
  async #through<T>(
    subscriber: Subscriber,
    call: (server: Server) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await call(subscriber.server)
    } catch (error) {
      if (this.#subscribers.has(subscriber)) throw error
      // The next pass uses another listener, if there is one.
      this.#wake.notifyOne()
      return undefined
    }
  }

  /** Tests whether notifications arrive, and later whether they still do. */
  async #check(): Promise<void> {
    const { clock } = this.#setup
    const isListening = this.#state === 'listening'
    const test = this.#test
    if (test === undefined) {
      if (!isListening || clock.now() - this.#arrivedMs >= NEXT_TEST_MS) await this.#sendTest()
      return
    }
    const ageMs = clock.now() - test.sentMs
    if (ageMs < TEST_MS) return
    // It may have arrived while the event loop was blocked: then it is handled before this continues.
    await clock.yield()
    if (this.#test !== test || this.#closing.signal.aborted) return
    // Another connection may receive them again.
    if (this.#hasArrived) throw new Error(NOT_ARRIVED)
    if (ageMs >= NEXT_TEST_MS) await this.#sendTest()
    else this.#noteDeaf()
  }

  async #sendTest(): Promise<void> {
    const [subscriber] = this.#subscribers
    if (subscriber === undefined) return
    const token = randomBytes(8).toString('hex')
    this.#test = { token, sentMs: this.#setup.clock.now(), subscriber }
    await this.#send(subscriber, [testNotification(subscriber.id, token)])
  }

  /** Sends through other connections: when that fails, the listen connection is as good as before. */
  async #send(subscriber: Subscriber, notifications: readonly Notification[]): Promise<void> {
    try {
      await this.#through(subscriber, (server) => server.send(notifications))
    } catch (error) {
      this.#noteUnsent(error)
    }
  }

  /** A notification could not be sent, as when the server's queue is full. Others lose theirs as well. */
  #noteUnsent(error: unknown): void {
    if (this.#state === 'closed') return
    const reason = reasonOf(error)
    if (this.#state === 'listening') {
      this.#interruptions++
      this.#setup.log.warn({ reason }, 'notifications cannot be sent; polling instead')
    }
    this.#test = undefined
    this.#lastError = reason
    this.#state = 'deaf'
    this.#polls.begin()
    for (const subscriber of this.#subscribers) subscriber.isListening = false
  }

  #noteDeaf(): void {
    this.#state = 'deaf'
    this.#lastError = NOT_ARRIVED
    if (this.#loggedDeaf) return
    this.#loggedDeaf = true
    this.#setup.log.warn(
      {},
      'notifications do not arrive; polling instead, which is slower. If there is a pooler such as ' +
        'PgBouncer in transaction mode, set listenUrl to an address that bypasses it.',
    )
  }

  /** Listeners that missed notifications for a while poll now. */
  async #pollAfterGap(): Promise<Directive> {
    if (this.#state !== 'listening') return restFor(TEST_MS)
    for (const subscriber of this.#subscribers) {
      if (subscriber.isListening || !this.#isListenedTo(subscriber)) continue
      subscriber.isListening = true
      if (subscriber.listener.interest().runtime !== 0) {
        await this.#send(subscriber, notificationsFor({ kind: 'joined' }, subscriber.id))
        if (this.#state !== 'listening') return restFor(TEST_MS)
      }
      void this.#poll(subscriber)
    }
    return restFor(this.#test === undefined ? this.#untilNextTestMs() : TEST_MS)
  }

  /** Whether its channels are listened to: one that was just added is served by the next pass. */
  #isListenedTo(subscriber: Subscriber): boolean {
    return recipientsOf(subscriber).every((to) => this.#channels.has(to))
  }

  async #pollAll(): Promise<boolean> {
    const found = await Promise.all(
      [...this.#subscribers].map((subscriber) => this.#poll(subscriber)),
    )
    return found.includes(true)
  }

  #untilNextTestMs(): number {
    // A clock that rounds would turn less than a millisecond into none.
    return Math.max(1, this.#arrivedMs + NEXT_TEST_MS - this.#setup.clock.now())
  }

  async #poll({ listener }: Subscriber): Promise<boolean> {
    try {
      return await listener.poll()
    } catch (error) {
      // The tick fails as well, and logs that at a higher level.
      this.#setup.log.debug({ err: error }, 'polling the store failed')
      return false
    }
  }

  #receive(channel: string, payload: string): void {
    const { hint, from } = readPayload(payload)
    if (hint.kind === 'trial') {
      if (hint.token === this.#test?.token) this.#testArrived()
      return
    }
    for (const subscriber of this.#subscribers) {
      if (from === subscriber.id) continue
      const isMeant = recipientsOf(subscriber).some((to) => this.#channels.get(to) === channel)
      if (isMeant) this.#guarded(() => subscriber.listener.receive(hint))
    }
  }

  /** The test notification has arrived. */
  #testArrived(): void {
    this.#test = undefined
    this.#hasArrived = true
    this.#arrivedMs = this.#setup.clock.now()
    if (this.#state === 'listening') return
    this.#state = 'listening'
    this.#polls.end()
    this.#lastError = undefined
    this.#setup.log.debug({ interruptions: this.#interruptions }, 'receiving notifications')
    this.#wake.notifyOne()
  }

  #guarded(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#setup.log.error({ err: error }, 'handling a notification failed')
    }
  }

  /** The result of a statement, or an error when the server does not answer in time. */
  async #answered(answer: Promise<void>): Promise<void> {
    const late = new AbortController()
    const timer = this.#setup.clock.after(ANSWER_MS, () =>
      late.abort(new Error(`no answer within ${ANSWER_MS} ms`)),
    )
    const closing = this.#closing.signal
    const stopListening = onAbort(closing, () => late.abort(closing.reason))
    try {
      await unlessAborted(answer, late.signal)
    } finally {
      timer.cancel()
      stopListening()
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The recipients whose notifications a listener receives. */
function recipientsOf({ id, listener }: Subscriber): string[] {
  if (listener.recipients !== undefined) return [id, ...listener.recipients]
  const { runtime } = listener.interest()
  return runtime === 0 ? [ALL_LISTENERS, id] : [ALL_LISTENERS, id, `r${runtime}`]
}
