// Random sequences of commands, with reopening and crashes, against a list that is simple enough to
// trust. HOLDFAST_PROPERTY_RUNS for more of them.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery, PushOptions } from '../../src/queue/index.ts'
import { Database } from '../../src/sqlite/database.ts'
import { type ModelDelivery, type ModelPush, QueueModel } from './model.ts'
import { queueFileSettings, queueInTime } from './support.ts'

const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 200)
const MINUTE = 60_000

interface Settling {
  readonly do: 'ack' | 'nack' | 'extend'
  readonly which: number
  readonly minutes: number
}

type Command =
  | { readonly do: 'push'; readonly push: ModelPush }
  | { readonly do: 'take'; readonly most: number }
  | Settling
  | { readonly do: 'remove' | 'retry' | 'discard'; readonly id: number }
  | { readonly do: 'pass'; readonly minutes: number }
  | { readonly do: 'reopen' | 'crash'; readonly lazy: boolean }

const minutes = fc.nat(6)
const pushes: fc.Arbitrary<ModelPush> = fc.record(
  {
    count: fc.integer({ min: 1, max: 4 }),
    key: fc.constantFrom('a', 'b'),
    dedupeKey: fc.constantFrom('x', 'y'),
    priority: fc.constantFrom(0, 0, 0, 1, -1),
    delay: fc.constantFrom(0, 0, 0, 2, 5),
    ttl: fc.constantFrom(undefined, undefined, undefined, 1, 5),
  },
  { requiredKeys: ['count', 'priority', 'delay', 'ttl'] },
)
const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), push: pushes }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      most: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('ack', 'ack', 'nack', 'nack', 'extend'),
      which: fc.nat(1_000),
      minutes,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('remove', 'retry', 'discard'), id: fc.nat(15) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), minutes }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('reopen', 'crash'), lazy: fc.boolean() }),
  },
)

test(
  'whatever is done to a queue, it is as a list would be',
  { timeout: 20_000 + RUNS * 60 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(commands, { minLength: 1, maxLength: 40, size: 'max' }),
        fc.constantFrom(1, 2, Infinity),
        follow,
      ),
      { numRuns: RUNS },
    )
  },
)

async function follow(script: readonly Command[], maxAttempts: number): Promise<void> {
  const database = new Database(queueFileSettings(':memory:'))
  const scene = new Scene(database, maxAttempts)
  await scene.open(false)
  for (const command of script) {
    const { real, expected } = await scene.perform(command)
    expect(real).toEqual(expected)
    expect(await scene.stored()).toEqual(scene.model.messages.map(shown))
    expect(scene.queue.counts).toEqual(scene.model.counts())
  }
  await scene.queue.close()
  database.close()
}

/** What a command came to, and what it should have. */
interface Outcome {
  readonly real: unknown
  readonly expected: unknown
}

/** A queue and its model. */
class Scene {
  readonly model: QueueModel
  readonly #database: Database
  #under!: Awaited<ReturnType<typeof queueInTime<string>>>
  #deliveries: { readonly real: Delivery<string>; readonly model: ModelDelivery }[] = []

  constructor(database: Database, maxAttempts: number) {
    this.#database = database
    this.model = new QueueModel(maxAttempts)
  }

  get queue() {
    return this.#under.queue
  }

  async open(lazy: boolean): Promise<void> {
    const { maxAttempts, leaseMinutes, dedupeMinutes, now } = this.model
    this.#deliveries = []
    this.#under = await queueInTime<string>({
      database: this.#database,
      maxAttempts,
      lazy,
      lease: leaseMinutes * MINUTE,
      dedupeWindow: dedupeMinutes * MINUTE,
      offsetMs: now * MINUTE,
    })
  }

  async stored(): Promise<unknown[]> {
    const stored = []
    for await (const message of this.queue) stored.push(shown(message))
    return stored
  }

  async perform(command: Command): Promise<Outcome> {
    const { model, queue } = this
    switch (command.do) {
      case 'push': {
        const expected = model.push(command.push)
        const items = Array.from(
          { length: command.push.count },
          (_, i) => `message ${expected[0]! + i}`,
        )
        return { expected, real: await queue.pushMany(items, optionsOf(command.push)) }
      }
      case 'take':
        return this.#take(command.most)
      case 'ack':
      case 'nack':
      case 'extend':
        return this.#settle(command)
      case 'remove': {
        const expected = model.remove(command.id) ? 1 : 0
        return { expected, real: await queue.remove([command.id]) }
      }
      case 'retry': {
        const expected = model.retry(command.id) ? 1 : 0
        return { expected, real: await queue.dead.retry([command.id]) }
      }
      case 'discard': {
        const isDead = model.find(command.id)?.state === 'dead' && model.remove(command.id)
        return { expected: isDead ? 1 : 0, real: await queue.dead.discard([command.id]) }
      }
      case 'pass':
        for (let i = 0; i < command.minutes; i++) {
          model.tick()
          await this.#under.pass(MINUTE)
        }
        return NOTHING
      case 'reopen':
        await queue.close()
        model.release()
        await this.open(command.lazy)
        return NOTHING
      case 'crash':
        // A number that no process has: the next one to open finds it gone.
        this.#database
          .sql(`update sessions set process = replace(process, ' ${process.pid}', ' 4194305')`)
          .run()
        model.release()
        await this.open(command.lazy)
        return NOTHING
    }
  }

  async #take(most: number): Promise<Outcome> {
    const taken = this.model.take(most).map((message) => ({ ...message }))
    const real = await this.queue.takeMany(most)
    for (const [i, delivery] of real.entries()) {
      if (taken[i] !== undefined) this.#deliveries.push({ real: delivery, model: taken[i] })
    }
    return { real: real.map(shown), expected: taken.map(shown) }
  }

  async #settle({ do: kind, which, minutes: length }: Settling): Promise<Outcome> {
    const chosen = this.#deliveries[which % this.#deliveries.length]
    if (chosen === undefined) return NOTHING
    const [expected, settling] = settle(kind, chosen, length, this.model)
    const real = await settling.then(
      () => true,
      (error: unknown) => (error as { code: string }).code !== 'not_in_flight' && error,
    )
    return { real, expected }
  }
}

const NOTHING: Outcome = { real: undefined, expected: undefined }

function shown({ id, data, attempt }: { id: number; data: string; attempt: number }) {
  return { id, data, attempt }
}

function optionsOf({ key, dedupeKey, priority, delay, ttl }: ModelPush): PushOptions {
  return {
    priority,
    delay: delay * MINUTE,
    ...(key === undefined ? {} : { key }),
    ...(dedupeKey === undefined ? {} : { dedupeKey }),
    ...(ttl === undefined ? {} : { ttl: ttl * MINUTE }),
  }
}

function settle(
  kind: 'ack' | 'nack' | 'extend',
  { real, model: delivery }: { real: Delivery<string>; model: ModelDelivery },
  length: number,
  model: QueueModel,
): [done: boolean, real: Promise<void>] {
  switch (kind) {
    case 'ack':
      return [model.ack(delivery), real.ack()]
    case 'nack':
      return [model.nack(delivery, length), real.nack({ delay: length * MINUTE })]
    case 'extend':
      return [model.extend(delivery, length), real.extend(length * MINUTE)]
  }
}
