// A queue with its users, and the model of it, side by side.

import type { Delivery, PushOptions } from '../../src/queue/index.ts'
import type { Database } from '../../src/sqlite/file/database.ts'
import {
  DEDUPE_SECONDS,
  LEASE_SECONDS,
  type ModelDelivery,
  type ModelOutcome,
  type ModelPush,
  type ModelRules,
  QueueModel,
} from './model.ts'
import type { Command, PushCommand, SettleCommand } from './model-commands.ts'
import { queueInTime } from './support.ts'

const SECOND = 1_000

/** What a command came to, and what it should have. */
export interface Outcome {
  readonly real: unknown
  readonly expected: unknown
}

type Under = Awaited<ReturnType<typeof queueInTime<string>>>

interface Pushed {
  readonly user: number
  readonly model: ModelOutcome
  readonly real: ModelOutcome
}

/** A queue and its model. */
export class Scene {
  readonly model: QueueModel
  readonly #database: Database
  readonly #users: Under[] = []
  readonly #sessions: number[] = []
  #deliveries: {
    readonly user: number
    readonly real: Delivery<string>
    readonly model: ModelDelivery
  }[] = []
  #pushed: Pushed[] = []
  #count = 0

  constructor(database: Database, rules: ModelRules) {
    this.#database = database
    this.model = new QueueModel(rules)
  }

  async open(): Promise<void> {
    for (let user = 0; user < this.model.rules.users; user++) await this.#registerUser(user, false)
  }

  async close(): Promise<void> {
    for (const { queue } of this.#users) await queue.close()
  }

  /** Does it to both. */
  async perform(command: Command): Promise<Outcome> {
    const user = command.user % this.model.rules.users
    const outcome = await this.#perform(command, user)
    this.model.admit()
    await this.#settled()
    return outcome
  }

  /** Everything there is to see, of both. */
  async state(): Promise<Outcome> {
    const stored: object[] = []
    for await (const message of this.#users[0]!.queue) stored.push(shown(message))
    // The counts are as of the latest answer; what others did is not in them before the next one.
    await Promise.all(this.#users.map(({ queue }) => queue.ack([])))
    return {
      real: {
        stored,
        counts: this.#users.map(({ queue }) => queue.counts),
        pushed: this.#pushed.map(({ real }) => real.ids),
      },
      expected: {
        stored: this.model.messages.map(shown),
        counts: this.#users.map(() => this.model.counts()),
        pushed: this.#pushed.map(({ model }) => model.ids),
      },
    }
  }

  async #perform(command: Command, user: number): Promise<Outcome> {
    const { model } = this
    const { queue } = this.#users[user]!
    switch (command.do) {
      case 'push':
        for (const push of command.pushes) this.#push(push, user)
        return NOTHING
      case 'take':
        return this.#take(command.mosts, user)
      case 'settle':
        return this.#settle(command.settles, user)
      case 'remove': {
        const id = this.#id(command.which)
        const expected = model.remove(id) ? 1 : 0
        return { expected, real: await queue.remove([id]) }
      }
      case 'retry': {
        const id = this.#id(command.which)
        const expected = model.retry(id) ? 1 : 0
        return { expected, real: await queue.dead.retry([id]) }
      }
      case 'discard': {
        const id = this.#id(command.which)
        const isDead = model.find(id)?.state === 'dead' && model.remove(id)
        return { expected: isDead ? 1 : 0, real: await queue.dead.discard([id]) }
      }
      case 'pass':
        for (let i = 0; i < command.seconds; i++) {
          model.tick()
          for (const under of this.#users) await under.pass(SECOND)
        }
        return NOTHING
      case 'reopen':
        await queue.close()
        model.close(user)
        await this.#registerUser(user, command.lazy)
        return NOTHING
      case 'crash':
        // A number that no process has: the next one to open finds it gone.
        this.#database
          .sql(
            `update sessions set process = replace(process, ' ${process.pid} ', ' 4194305 ')
             where session = ?`,
          )
          .run(this.#sessions[user]!)
        model.crash(user)
        await this.#registerUser(user, command.lazy)
        return NOTHING
    }
  }

  async #registerUser(user: number, lazy: boolean): Promise<void> {
    const { maxAttempts, capacity, whenFull } = this.model.rules
    this.#deliveries = this.#deliveries.filter((delivery) => delivery.user !== user)
    this.#pushed = this.#pushed.filter((pushed) => pushed.user !== user)
    this.#users[user] = await queueInTime<string>({
      database: this.#database,
      maxAttempts,
      capacity,
      whenFull,
      durability: 'os',
      lazy,
      lease: LEASE_SECONDS * SECOND,
      dedupeWindow: DEDUPE_SECONDS * SECOND,
      offsetMs: this.model.now * SECOND,
    })
    const latest = this.#database.sql('select max(session) as session from sessions').get()
    this.#sessions[user] = (latest as { session: number }).session
  }

  // Not waited for: it may have to wait for room.
  #push(given: PushCommand, user: number): void {
    const { count, ...options } = given
    const data = Array.from({ length: count }, () => `message ${this.#count++}`)
    const real: ModelOutcome = {}
    const queue = this.#users[user]!.queue
    const push: ModelPush = { data, ...options }
    queue.pushMany(data, optionsOf(push)).then(
      (ids) => (real.ids = ids),
      (error: unknown) => (real.ids = (error as { code: 'full' }).code),
    )
    this.#pushed.push({ user, real, model: this.model.push(push, user) })
  }

  async #take(mosts: readonly number[], user: number): Promise<Outcome> {
    const { queue } = this.#users[user]!
    const taking = mosts.map((max) => queue.takeMany(max))
    const expected = mosts.map((max) => this.model.take(max, user).map((it) => ({ ...it })))
    const real = await Promise.all(taking)
    for (const [i, delivery] of real.flat().entries()) {
      const model = expected.flat()[i]
      if (model !== undefined) this.#deliveries.push({ user, real: delivery, model })
    }
    return { real: real.map(allShown), expected: expected.map(allShown) }
  }

  async #settle(settles: readonly SettleCommand[], user: number): Promise<Outcome> {
    const own = this.#deliveries.filter((delivery) => delivery.user === user)
    if (own.length === 0) return NOTHING
    const settling = settles.map(({ how, which, seconds }) => {
      const { real, model } = own[which % own.length]!
      return settle(how, real, model, seconds, this.model)
    })
    const real = settling.map(([, promise]) =>
      promise.then(
        () => true,
        (error: unknown) => (error as { code: string }).code !== 'not_in_flight' && error,
      ),
    )
    return { real: await Promise.all(real), expected: settling.map(([expected]) => expected) }
  }

  #id(which: number): number {
    const { ids } = this.model
    return ids.length === 0 ? which : ids[which % ids.length]!
  }

  /** Resolves when everything that was set off has come to its end. */
  async #settled(): Promise<void> {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  }
}

const NOTHING: Outcome = { real: undefined, expected: undefined }

interface Shown {
  readonly id: number
  readonly data: string
  readonly attempt: number
  readonly reason?: string | undefined
}

function shown({ id, data, attempt, reason }: Shown): object {
  return { id, data, attempt, reason }
}

function allShown(messages: readonly Shown[]): readonly object[] {
  return messages.map(shown)
}

function optionsOf(push: ModelPush): PushOptions {
  const { key, dedupeKey, priority, delay, ttl, durability } = push
  return {
    priority,
    delay: delay * SECOND,
    ...(key === undefined ? {} : { key }),
    ...(dedupeKey === undefined ? {} : { dedupeKey }),
    ...(ttl === undefined ? {} : { ttl: ttl * SECOND }),
    ...(durability === undefined ? {} : { durability }),
  }
}

function settle(
  how: SettleCommand['how'],
  real: Delivery<string>,
  delivery: ModelDelivery,
  seconds: number,
  model: QueueModel,
): [done: boolean, real: Promise<void>] {
  switch (how) {
    case 'ack':
      return [model.ack(delivery), real.ack()]
    case 'nack':
      return [model.nack(delivery, seconds), real.nack({ delay: seconds * SECOND })]
    case 'extend':
      return [model.extend(delivery, seconds), real.extend(seconds * SECOND)]
  }
}
