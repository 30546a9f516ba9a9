// A queue as a plain list, simple enough to trust. Time is in seconds.

/** A message of the model. */
export interface ModelMessage {
  readonly id: number
  readonly data: string
  readonly key: string | undefined
  readonly priority: number
  readonly pushedAt: number
  state: 'waiting' | 'in flight' | 'dead'
  /** Behind another message of its key. */
  isBlocked: boolean
  /** When it can be taken, or its lease ends. */
  dueAt: number
  expiresAt: number
  attempt: number
  /** How often it was delivered in all. */
  receipt: number
  /** The user that has it. */
  user: number
  reason: string | undefined
}

/** How a push is modelled. */
export interface ModelPush {
  readonly data: readonly string[]
  readonly key?: string
  readonly dedupeKey?: string
  readonly priority: number
  readonly delay: number
  readonly ttl: number | undefined
  readonly durability?: 'os' | 'fsync'
}

/** What a push comes to: ids, a refusal, or nothing as long as it waits for room. */
export interface ModelOutcome {
  ids?: readonly number[] | 'full' | undefined
}

/** One delivery, as the test remembers it. */
export interface ModelDelivery {
  readonly id: number
  readonly receipt: number
}

/** How the queue is opened. */
export interface ModelRules {
  readonly users: number
  readonly maxAttempts: number
  readonly capacity: number
  readonly whenFull: 'wait' | 'refuse'
}

export const LEASE_SECONDS = 4
export const DEDUPE_SECONDS = 6

/** What a queue should do. */
export class QueueModel {
  readonly rules: ModelRules
  messages: ModelMessage[] = []
  /** Every id there ever was. */
  readonly ids: number[] = []
  now = 0
  #nextId = 0
  /** Pushes that wait for room, in order. */
  #waiting: { readonly push: ModelPush; readonly user: number; readonly outcome: ModelOutcome }[] =
    []
  readonly #dedupes = new Map<string, { ids: readonly number[]; until: number }>()

  constructor(rules: ModelRules) {
    this.rules = rules
  }

  push(push: ModelPush, user: number): ModelOutcome {
    const outcome: ModelOutcome = {}
    if (this.#waiting.length === 0) outcome.ids = this.#judge(push)
    if (outcome.ids !== undefined) return outcome
    if (this.rules.whenFull === 'refuse') return { ids: 'full' }
    this.#waiting.push({ push, user, outcome })
    return outcome
  }

  take(max: number, user: number): ModelMessage[] {
    const taken = this.messages
      .filter((message) => this.isReady(message))
      .toSorted((a, b) => b.priority - a.priority || a.id - b.id)
      .slice(0, max)
    for (const message of taken) {
      message.state = 'in flight'
      message.dueAt = this.now + LEASE_SECONDS
      message.attempt++
      message.receipt++
      message.user = user
    }
    return taken
  }

  ack({ id, receipt }: ModelDelivery): boolean {
    const message = this.find(id)
    if (message === undefined) return true
    if (message.receipt !== receipt) return false
    this.remove(id)
    return true
  }

  nack(delivery: ModelDelivery, delay: number): boolean {
    const message = this.#held(delivery)
    if (message === undefined) return false
    this.#failAttempt(message, this.now + delay, `nacked in attempt ${message.attempt}`)
    return true
  }

  extend(delivery: ModelDelivery, seconds: number): boolean {
    const message = this.#held(delivery)
    if (message === undefined) return false
    message.dueAt += seconds
    return true
  }

  remove(id: number): boolean {
    const message = this.find(id)
    if (message === undefined) return false
    this.messages = this.messages.filter((other) => other !== message)
    this.#letNextThrough(message)
    return true
  }

  retry(id: number): boolean {
    const message = this.find(id)
    if (message?.state !== 'dead') return false
    const { expiresAt, pushedAt, key } = message
    if (expiresAt <= this.now) message.expiresAt = this.now + expiresAt - pushedAt
    const first = this.#firstOf(key)
    message.attempt = 0
    message.reason = undefined
    message.state = 'waiting'
    message.dueAt = this.now
    message.isBlocked = first !== undefined && (first.state === 'in flight' || first.id < id)
    if (first !== undefined && !message.isBlocked) first.isBlocked = true
    return true
  }

  /** Lets a second pass. */
  tick(): void {
    this.now++
    for (const { id, state, expiresAt } of this.messages) {
      if (state === 'waiting' && expiresAt <= this.now) this.remove(id)
    }
    for (const message of this.messages) {
      if (message.state !== 'in flight' || message.dueAt > this.now) continue
      this.#failAttempt(message, this.now, `its lease ended in attempt ${message.attempt}`)
    }
    this.admit()
  }

  /** A user has closed the queue: it is as if what he had in flight had not been taken. */
  close(user: number): void {
    this.#forget(user)
    for (const message of this.#inFlightOf(user)) {
      if (message.expiresAt <= this.now) this.remove(message.id)
      else {
        message.attempt--
        this.#rejoin(message, this.now)
      }
    }
  }

  /** The process of a user has ended. */
  crash(user: number): void {
    this.#forget(user)
    for (const message of this.#inFlightOf(user)) {
      const { attempt } = message
      const wait = attempt === 1 ? 0 : Math.min(2 ** (attempt - 2), 300)
      this.#failAttempt(message, this.now + wait, `its process ended in attempt ${attempt}`)
    }
  }

  /** Lets waiting pushes in, as far as there is space. */
  admit(): void {
    for (;;) {
      const [first] = this.#waiting
      if (first === undefined || this.#live + first.push.data.length > this.rules.capacity) return
      first.outcome.ids = this.#judge(first.push)!
      this.#waiting.shift()
    }
  }

  find(id: number): ModelMessage | undefined {
    return this.messages.find((message) => message.id === id)
  }

  isReady({ state, isBlocked, dueAt }: ModelMessage): boolean {
    return state === 'waiting' && !isBlocked && dueAt <= this.now
  }

  counts() {
    const count = (is: (message: ModelMessage) => boolean) => this.messages.filter(is).length
    return {
      total: this.messages.length,
      ready: count((message) => this.isReady(message)),
      inFlight: count(({ state }) => state === 'in flight'),
      delayed: count((message) => message.state === 'waiting' && !this.isReady(message)),
      dead: count(({ state }) => state === 'dead'),
    }
  }

  get #live(): number {
    return this.messages.filter(({ state }) => state !== 'dead').length
  }

  /** `undefined` when there is no room. */
  #judge(push: ModelPush): readonly number[] | undefined {
    const earlier = push.dedupeKey === undefined ? undefined : this.#dedupes.get(push.dedupeKey)
    if (earlier !== undefined && earlier.until > this.now) return earlier.ids
    if (this.#live + push.data.length > this.rules.capacity) return undefined
    const firstId = this.#nextId
    this.#nextId += push.data.length
    const ids = push.data.map((data, i) => this.#store(firstId + i, data, push))
    if (push.dedupeKey !== undefined) {
      this.#dedupes.set(push.dedupeKey, { ids, until: this.now + DEDUPE_SECONDS })
    }
    return ids
  }

  #store(id: number, data: string, { key, priority, delay, ttl }: ModelPush): number {
    this.ids.push(id)
    this.messages.push({
      id,
      data,
      key,
      priority,
      pushedAt: this.now,
      state: 'waiting',
      isBlocked: this.#firstOf(key) !== undefined,
      dueAt: this.now + delay,
      expiresAt: ttl === undefined ? Infinity : this.now + ttl,
      attempt: 0,
      receipt: 0,
      user: -1,
      reason: undefined,
    })
    this.messages.sort((a, b) => a.id - b.id)
    return id
  }

  /** A user starts anew. */
  #forget(user: number): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.user !== user)
  }

  #inFlightOf(user: number): readonly ModelMessage[] {
    return this.messages.filter((message) => message.state === 'in flight' && message.user === user)
  }

  #held({ id, receipt }: ModelDelivery): ModelMessage | undefined {
    const message = this.find(id)
    return message?.state === 'in flight' && message.receipt === receipt ? message : undefined
  }

  #failAttempt(message: ModelMessage, dueAt: number, reason: string): void {
    if (message.expiresAt <= this.now) return void this.remove(message.id)
    message.reason = reason
    if (message.attempt < this.rules.maxAttempts) return this.#rejoin(message, dueAt)
    message.state = 'dead'
    this.#unblockNext(message.key)
  }

  /** An older one of its key may have come back meanwhile: that is first. */
  #rejoin(message: ModelMessage, dueAt: number): void {
    const next = this.#nextOf(message.key)
    message.state = 'waiting'
    message.dueAt = dueAt
    message.isBlocked = next !== undefined && next.id < message.id
    if (next !== undefined && message.isBlocked) next.isBlocked = false
  }

  #letNextThrough({ key, isBlocked, state }: ModelMessage): void {
    if (!isBlocked && state !== 'dead') this.#unblockNext(key)
  }

  #unblockNext(key: string | undefined): void {
    const next = this.#nextOf(key)
    if (next !== undefined) next.isBlocked = false
  }

  /** The one of a key that is not blocked. */
  #firstOf(key: string | undefined): ModelMessage | undefined {
    if (key === undefined) return undefined
    return this.messages.find((other) => {
      return other.key === key && other.state !== 'dead' && !other.isBlocked
    })
  }

  /** The oldest of a key that is blocked. */
  #nextOf(key: string | undefined): ModelMessage | undefined {
    if (key === undefined) return undefined
    return this.messages.find((other) => {
      return other.key === key && other.state === 'waiting' && other.isBlocked
    })
  }
}
