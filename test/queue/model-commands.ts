// What is done to a queue and to its model.

import * as fc from 'fast-check'
import type { ModelRules } from './model.ts'

/** A push, before its data is chosen. */
export interface PushCommand {
  readonly count: number
  readonly key?: string
  readonly dedupeKey?: string
  readonly priority: number
  readonly delay: number
  readonly ttl: number | undefined
  readonly durability?: 'os' | 'fsync'
}

/** Something that happens to a delivery: one of those there were. */
export interface SettleCommand {
  readonly how: 'ack' | 'nack' | 'extend'
  readonly which: number
  readonly seconds: number
}

/** One of these by one of the users. What is in a list is asked for at once. */
export type Command = { readonly user: number } & (
  | { readonly do: 'push'; readonly pushes: readonly PushCommand[] }
  | { readonly do: 'take'; readonly mosts: readonly number[] }
  | { readonly do: 'settle'; readonly settles: readonly SettleCommand[] }
  | { readonly do: 'remove' | 'retry' | 'discard'; readonly which: number }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'reopen' | 'crash'; readonly lazy: boolean }
)

const user = fc.nat(1)
const which = fc.nat(1_000)
const seconds = fc.nat(6)
const few = { minLength: 1, maxLength: 3 } as const

const push: fc.Arbitrary<PushCommand> = fc.record(
  {
    count: fc.integer({ min: 1, max: 4 }),
    key: fc.constantFrom('a', 'b'),
    dedupeKey: fc.constantFrom('x', 'y'),
    priority: fc.constantFrom(0, 0, 0, 1, -1),
    delay: fc.constantFrom(0, 0, 0, 2, 5),
    ttl: fc.constantFrom(undefined, undefined, undefined, 1, 5),
    durability: fc.constantFrom('os', 'fsync'),
  },
  { requiredKeys: ['count', 'priority', 'delay', 'ttl'] },
)
const settle: fc.Arbitrary<SettleCommand> = fc.record({
  how: fc.constantFrom('ack', 'ack', 'nack', 'nack', 'extend'),
  which,
  seconds,
})

const is = <const Kind extends string>(...kinds: Kind[]) => fc.constantFrom(...kinds)

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ user, do: is('push'), pushes: fc.array(push, few) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      user,
      do: is('take'),
      mosts: fc.array(fc.integer({ min: 1, max: 4 }), few),
    }),
  },
  { weight: 6, arbitrary: fc.record({ user, do: is('settle'), settles: fc.array(settle, few) }) },
  {
    weight: 2,
    arbitrary: fc.record({ user, do: is('remove', 'retry', 'retry', 'discard'), which }),
  },
  { weight: 2, arbitrary: fc.record({ user, do: is('pass'), seconds }) },
  { weight: 1, arbitrary: fc.record({ user, do: is('reopen', 'crash'), lazy: fc.boolean() }) },
)

/** What is done, one after the other. */
export const scripts = fc.array(command, { minLength: 1, maxLength: 40, size: 'max' })

const plain = { capacity: Infinity, whenFull: 'wait' } as const

// Which of several users gets the free space is not specified, so only one waits for it.
const kinds: fc.Arbitrary<Omit<ModelRules, 'maxAttempts'>> = fc.constantFrom(
  { ...plain, users: 1 },
  { ...plain, users: 2 },
  { ...plain, users: 1, capacity: 6 },
  { ...plain, users: 2, capacity: 6, whenFull: 'refuse' as const },
)

/** How the queue is opened. */
export const rules: fc.Arbitrary<ModelRules> = fc
  .record({ kind: kinds, maxAttempts: fc.constantFrom(1, 2, Infinity) })
  .map(({ kind, maxAttempts }) => ({ ...kind, maxAttempts }))
