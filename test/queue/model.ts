// A queue as a plain list, simple enough to trust. Time is in minutes.

/** A message of the model. */
export interface ModelMessage {
  readonly id: number
  readonly data: string
  readonly key: string | undefined
  readonly priority: number
  state: 'waiting' | 'in flight' | 'dead'
  /** Behind another message of its key. */
  isBlocked: boolean
  /** When it can be taken, or its lease ends. */
  dueAt: number
  expiresAt: number
  attempt: number
  /** How often it was delivered in all. */
  receipt: number
}

/** How a push is modelled. */
export interface ModelPush {
  readonly count: number
  readonly key?: string
  readonly dedupeKey?: string
  readonly priority: number
  readonly delay: number
  readonly ttl: number | undefined
}

/** One delivery, as the test remembers it. */
export interface ModelDelivery {
  readonly id: number
  readonly receipt: number
}

/** What a queue should do. */
export class QueueModel {
  readonly leaseMinutes = 4
  readonly dedupeMinutes = 6
  readonly maxAttempts: number
  messages: ModelMessage[] = []
  now = 0
  #nextId = 0
  readonly #dedupes = new Map<string, { ids: number[]; until: number }>()

  constructor(maxAttempts: number) {
    this.maxAttempts = maxAttempts
  }

  push(push: ModelPush): number[] {
    const earlier = push.dedupeKey === undefined ? undefined : this.#dedupes.get(push.dedupeKey)
    if (earlier !== undefined && earlier.until > this.now) return earlier.ids
    const ids = Array.from({ length: push.count }, () => this.#nextId++)
    for (const id of ids) {
      this.messages.push({
        id,
        data: `message ${id}`,
        key: push.key,
        priority: push.priority,
        state: 'waiting',
        isBlocked: this.#isHeld(push.key),
        dueAt: this.now + push.delay,
        expiresAt: push.ttl === undefined ? Infinity : this.now + push.ttl,
        attempt: 0,
        receipt: 0,
      })
    }
    if (push.dedupeKey !== undefined) {
      this.#dedupes.set(push.dedupeKey, { ids, until: this.now + this.dedupeMinutes })
    }
    return ids
  }

  take(most: number): ModelMessage[] {
    const taken = this.messages
      .filter((message) => this.isReady(message))
      .toSorted((a, b) => b.priority - a.priority || a.id - b.id)
      .slice(0, most)
    for (const message of taken) {
      message.state = 'in flight'
      message.dueAt = this.now + this.leaseMinutes
      message.attempt++
      message.receipt++
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

  nack({ id, receipt }: ModelDelivery, delay: number): boolean {
    const message = this.find(id)
    if (message?.state !== 'in flight' || message.receipt !== receipt) return false
    if (message.expiresAt <= this.now) this.remove(id)
    else if (message.attempt >= this.maxAttempts) this.#bury(message)
    else this.#putBack(message, this.now + delay)
    return true
  }

  extend({ id, receipt }: ModelDelivery, minutes: number): boolean {
    const message = this.find(id)
    if (message?.state !== 'in flight' || message.receipt !== receipt) return false
    message.dueAt += minutes
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
    message.isBlocked = this.#isHeld(message.key)
    message.attempt = 0
    message.expiresAt = Infinity
    this.#putBack(message, this.now)
    return true
  }

  /** Lets a minute pass. */
  tick(): void {
    this.now++
    for (const message of this.messages) {
      const isExpired = message.expiresAt <= this.now
      if (message.state === 'waiting' && isExpired) this.remove(message.id)
      else if (message.state === 'in flight' && message.dueAt <= this.now) {
        if (isExpired) this.remove(message.id)
        else if (message.attempt >= this.maxAttempts) this.#bury(message)
        else this.#putBack(message, this.now)
      }
    }
  }

  /** The one who had everything is gone. */
  release(): void {
    for (const message of this.messages) {
      if (message.state !== 'in flight') continue
      if (message.expiresAt <= this.now) this.remove(message.id)
      else this.#putBack(message, this.now)
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

  #isHeld(key: string | undefined): boolean {
    return (
      key !== undefined &&
      this.messages.some((other) => other.key === key && other.state !== 'dead' && !other.isBlocked)
    )
  }

  #putBack(message: ModelMessage, dueAt: number): void {
    message.state = 'waiting'
    message.dueAt = dueAt
  }

  #bury(message: ModelMessage): void {
    message.state = 'dead'
    this.#letNextThrough(message, false)
  }

  #letNextThrough(message: ModelMessage, wasDead = message.state === 'dead'): void {
    if (message.key === undefined || message.isBlocked || wasDead) return
    const next = this.messages.find(
      ({ key, isBlocked, state }) => key === message.key && isBlocked && state !== 'dead',
    )
    if (next !== undefined) next.isBlocked = false
  }
}
