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
import type { NotifierHealth, HintReceiver, Listening } from '../../store/hints.ts'
import { type Directive, sleep as restFor } from '../../workers/directive.ts'
import { worker, type Worker } from '../../workers/worker.ts'
import type { ListenConnection, OpenListenConnection } from './listen-connection.ts'
import { EVERYBODY, type Letter, lettersFor, readPayload, trialLetter } from './payload.ts'
import { FallbackPolls } from './fallback-polls.ts'

/** What the notifier needs. */
export interface NotifierSetup {
  readonly openConnection: OpenListenConnection
  readonly clock: Clock
  readonly log: Logger
}

/** How a listener calls the server, through other connections than the one that listens. */
export interface Server {
  send(letters: readonly Letter[]): Promise<void>
  /** The name of the channel for notifications to this recipient. */
  channelOf(to: string): Promise<string>
}

const ANSWER_MS = 10_000
const TRIAL_MS = 5_000
// Rare enough to cost an idle server next to nothing.
const NEXT_TRIAL_MS = 60_000
// The shortest time between two test notifications that a failed send asks for.
const DOUBT_MS = 1_000
const BACKOFF = { initial: 100, max: 10_000 }
const UNHEARD = 'a test notification did not arrive'

/** A listener, as the notifier keeps it. */
interface Place {
  readonly id: string
  readonly listener: HintReceiver
  readonly server: Server
  /** Whether its channels are listened to, so that it need not poll. */
  hears: boolean
}

/** Receives hints and passes them to the listeners. */
export class Notifier {
  readonly #setup: NotifierSetup
  readonly #places = new Set<Place>()
  readonly #wake = notify()
  readonly #worker: Worker
  #connection: ListenConnection | undefined
  /** Channels that are listened to, by recipient. */
  readonly #followed = new Map<string, string>()
  #state: Exclude<NotifierHealth['state'], 'off'> = 'connecting'
  #interruptions = 0
  #lastError: string | undefined
  /** The test notification that was sent and has not arrived. */
  #trial: { readonly token: string; readonly sentMs: number; readonly place: Place } | undefined
  readonly #looks: FallbackPolls
  /** When a test notification last arrived. */
  #heardMs = 0
  /** Whether one arrived through this connection. */
  #hasHeard = false
  #loggedDeaf = false
  readonly #closing = new AbortController()

  constructor(setup: NotifierSetup) {
    const { clock, log } = setup
    this.#setup = setup
    this.#looks = new FallbackPolls({ clock, look: () => this.#lookAll() })
    this.#worker = worker(
      'notifier',
      { wakeOn: [this.#wake], clock, log, backoff: BACKOFF },
      ({ stopping }) => this.#pass(stopping),
    )
  }

  /** Whether notifications arrive at present. */
  get hears(): boolean {
    return this.#state === 'listening'
  }

  /** Adds a listener. */
  listen(listener: HintReceiver, server: Server): Listening & { readonly id: string } {
    const place: Place = { id: randomBytes(8).toString('hex'), listener, server, hears: false }
    this.#places.add(place)
    if (!this.hears) this.#looks.begin()
    this.#wake.notifyOne()
    const hears = (): boolean => place.hears && this.hears
    return {
      id: place.id,
      get hears() {
        return hears()
      },
      health: () => ({
        state: this.#state === 'listening' && !place.hears ? 'connecting' : this.#state,
        interruptions: this.#interruptions,
        ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      }),
      refresh: () => {
        place.hears = false
        this.#wake.notifyOne()
      },
      close: async () => {
        this.#places.delete(place)
        // Its channel is about to be dropped: another listener has to send the test.
        if (this.#trial?.place === place) this.#trial = undefined
        this.#wake.notifyOne()
      },
    }
  }

  /** Notifications may not arrive at present: tests that now instead of within a minute. */
  doubt(): void {
    if (!this.hears || this.#trial !== undefined) return
    if (this.#setup.clock.now() - this.#heardMs < DOUBT_MS) return
    this.#heardMs = -Infinity
    this.#wake.notifyOne()
  }

  /** Closes the connection and stops the loop. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#closing.abort(new Error('the notifier was closed'))
    this.#looks.end()
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
    return this.#tellToLook()
  }

  async #open(): Promise<ListenConnection> {
    let connection: ListenConnection | undefined
    const opened = await this.#setup.openConnection({
      heard: (channel, payload) => this.#guarded(() => this.#receive(channel, payload)),
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
    this.#hasHeard = false
    this.#trial = undefined
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
    this.#followed.clear()
    if (this.#state !== 'closed') {
      this.#state = 'connecting'
      this.#looks.begin()
    }
    for (const place of this.#places) place.hears = false
  }

  /** Listens to the channels of all listeners, and to no others. */
  async #follow(connection: ListenConnection): Promise<void> {
    const wanted = new Map<string, Place>()
    for (const place of this.#places) {
      for (const to of recipientsOf(place)) wanted.set(to, place)
    }
    for (const [to, place] of wanted) {
      if (this.#followed.has(to) || !this.#places.has(place)) continue
      const channel = await this.#through(place, (server) => server.channelOf(to))
      if (channel === undefined) continue
      await this.#answered(connection.listen(channel))
      this.#followed.set(to, channel)
    }
    for (const [to, channel] of this.#followed) {
      if (wanted.has(to)) continue
      await this.#answered(connection.unlisten(channel))
      this.#followed.delete(to)
    }
  }

  /** Calls the server for a listener; `undefined` when that fails after the listener has left. */
  async #through<T>(place: Place, call: (server: Server) => Promise<T>): Promise<T | undefined> {
    try {
      return await call(place.server)
    } catch (error) {
      if (this.#places.has(place)) throw error
      // The next pass uses another listener, if there is one.
      this.#wake.notifyOne()
      return undefined
    }
  }

  /** Tests whether notifications arrive, and later whether they still do. */
  async #check(): Promise<void> {
    const { clock } = this.#setup
    const hears = this.#state === 'listening'
    const trial = this.#trial
    if (trial === undefined) {
      if (!hears || clock.now() - this.#heardMs >= NEXT_TRIAL_MS) await this.#try()
      return
    }
    const ageMs = clock.now() - trial.sentMs
    if (ageMs < TRIAL_MS) return
    // It may have arrived while the event loop was blocked: then it is handled before this continues.
    await clock.yield()
    if (this.#trial !== trial || this.#closing.signal.aborted) return
    // Another connection may receive them again.
    if (this.#hasHeard) throw new Error(UNHEARD)
    if (ageMs >= NEXT_TRIAL_MS) await this.#try()
    else this.#noteDeaf()
  }

  async #try(): Promise<void> {
    const [place] = this.#places
    if (place === undefined) return
    const token = randomBytes(8).toString('hex')
    this.#trial = { token, sentMs: this.#setup.clock.now(), place }
    await this.#send(place, [trialLetter(place.id, token)])
  }

  /** Sends through other connections: when that fails, the listen connection is as good as before. */
  async #send(place: Place, letters: readonly Letter[]): Promise<void> {
    try {
      await this.#through(place, (server) => server.send(letters))
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
    this.#trial = undefined
    this.#lastError = reason
    this.#state = 'deaf'
    this.#looks.begin()
    for (const place of this.#places) place.hears = false
  }

  #noteDeaf(): void {
    this.#state = 'deaf'
    this.#lastError = UNHEARD
    if (this.#loggedDeaf) return
    this.#loggedDeaf = true
    this.#setup.log.warn(
      {},
      'notifications do not arrive; polling instead, which is slower. If there is a pooler such as ' +
        'PgBouncer in transaction mode, set listenUrl to an address that bypasses it.',
    )
  }

  /** Listeners that missed notifications for a while poll now. */
  async #tellToLook(): Promise<Directive> {
    if (this.#state !== 'listening') return restFor(TRIAL_MS)
    for (const place of this.#places) {
      if (place.hears || !this.#isFollowed(place)) continue
      place.hears = true
      if (place.listener.interest().runtime !== 0) {
        await this.#send(place, lettersFor({ kind: 'joined' }, place.id))
        if (this.#state !== 'listening') return restFor(TRIAL_MS)
      }
      void this.#look(place)
    }
    return restFor(this.#trial === undefined ? this.#untilNextTrialMs() : TRIAL_MS)
  }

  /** Whether its channels are listened to: one that was just added is served by the next pass. */
  #isFollowed(place: Place): boolean {
    return recipientsOf(place).every((to) => this.#followed.has(to))
  }

  async #lookAll(): Promise<boolean> {
    const found = await Promise.all([...this.#places].map((place) => this.#look(place)))
    return found.includes(true)
  }

  #untilNextTrialMs(): number {
    // A clock that rounds would turn less than a millisecond into none.
    return Math.max(1, this.#heardMs + NEXT_TRIAL_MS - this.#setup.clock.now())
  }

  async #look({ listener }: Place): Promise<boolean> {
    try {
      return await listener.look()
    } catch (error) {
      // The tick fails as well, and logs that at a higher level.
      this.#setup.log.debug({ err: error }, 'polling the store failed')
      return false
    }
  }

  #receive(channel: string, payload: string): void {
    const { hint, from } = readPayload(payload)
    if (hint.kind === 'trial') {
      if (hint.token === this.#trial?.token) this.#arrived()
      return
    }
    for (const place of this.#places) {
      if (from === place.id) continue
      const isMeant = recipientsOf(place).some((to) => this.#followed.get(to) === channel)
      if (isMeant) this.#guarded(() => place.listener.hear(hint))
    }
  }

  /** The test notification has arrived. */
  #arrived(): void {
    this.#trial = undefined
    this.#hasHeard = true
    this.#heardMs = this.#setup.clock.now()
    if (this.#state === 'listening') return
    this.#state = 'listening'
    this.#looks.end()
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
function recipientsOf({ id, listener }: Place): string[] {
  const { runtime } = listener.interest()
  return runtime === 0 ? [EVERYBODY, id] : [EVERYBODY, id, `r${runtime}`]
}
