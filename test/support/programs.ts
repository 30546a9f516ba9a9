// Random workflow programs: trees of commands and native promise combinators, and an interpreter
// that runs one of them as workflow code.

import { activity, failure, type WorkflowContext } from '../../src/index.ts'

/** Random numbers that a seed decides. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  shuffle<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, place: this.next() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ item }) => item)
  }
}

/** A part of a program. */
export type Part =
  | { readonly op: 'activity' | 'step'; readonly name: string }
  | { readonly op: 'timer'; readonly days: number }
  | { readonly op: 'value'; readonly value: number }
  | { readonly op: 'throw'; readonly what: 'failure' | 'error' }
  /** One after the other; each sees what came before. */
  | { readonly op: 'sequence' | 'generator'; readonly parts: readonly Part[] }
  | { readonly op: 'all' | 'race' | 'any' | 'allSettled'; readonly parts: readonly Part[] }
  | { readonly op: 'then' | 'finally' | 'catch'; readonly first: Part; readonly next: Part }
  /** In an async function of its own, behind some microtasks. */
  | { readonly op: 'helper'; readonly hops: number; readonly part: Part }
  | { readonly op: 'loop'; readonly times: number; readonly part: Part }
  | { readonly op: 'branch'; readonly on: Part; readonly even: Part; readonly odd: Part }
  /** Begun first and looked at last. */
  | { readonly op: 'late'; readonly early: Part; readonly between: Part }

const Refused = failure<{ by: string }>('RefusedInProgram')

/** Makes a program of about `size` parts. */
export function randomProgram(dice: Dice, size: number): Part {
  if (size <= 1) return leaf(dice)
  const parts = (count: number): Part[] =>
    Array.from({ length: count }, () => randomProgram(dice, Math.floor((size - 1) / count)))
  const [one, two, three] = [() => parts(1)[0]!, () => parts(2), () => parts(3)]
  switch (dice.below(12)) {
    case 0:
    case 1:
      return { op: 'sequence', parts: parts(2 + dice.below(3)) }
    case 2:
      return { op: 'generator', parts: parts(2) }
    case 3:
    case 4:
      return { op: dice.pick(['all', 'allSettled']), parts: parts(1 + dice.below(4)) }
    case 5:
      return { op: dice.pick(['race', 'any']), parts: parts(1 + dice.below(4)) }
    case 6:
    case 7: {
      const [first, next] = two()
      return { op: dice.pick(['then', 'finally', 'catch']), first: first!, next: next! }
    }
    case 8:
      return { op: 'helper', hops: dice.below(20), part: one() }
    case 9:
      return { op: 'loop', times: 2 + dice.below(2), part: randomProgram(dice, size >> 1) }
    case 10: {
      const [on, even, odd] = three()
      return { op: 'branch', on: on!, even: even!, odd: odd! }
    }
    default: {
      const [early, between] = two()
      return { op: 'late', early: early!, between: between! }
    }
  }
}

function leaf(dice: Dice): Part {
  switch (dice.below(10)) {
    case 0:
      return { op: 'value', value: dice.below(10) }
    case 1:
      return dice.below(3) === 0
        ? { op: 'throw', what: dice.pick(['failure', 'error']) }
        : { op: 'timer', days: 1 + dice.below(5) }
    case 2:
    case 3:
      return { op: 'timer', days: 1 + dice.below(5) }
    case 4:
    case 5:
    case 6:
      return { op: 'step', name: dice.pick(['read', 'write', 'look']) }
    default:
      return { op: 'activity', name: dice.pick(['mail', 'charge', 'ship']) }
  }
}

/** Runs a part; writes down all that it sees on the way. */
export async function interpret(
  part: Part,
  ctx: WorkflowContext,
  seen: string[],
  input: unknown = null,
): Promise<unknown> {
  const note = <T>(value: T): T => {
    seen.push(`${part.op} ${JSON.stringify(value) ?? 'undefined'} at ${ctx.now().getTime()}`)
    return value
  }
  const run = (one: Part, given: unknown = input): Promise<unknown> =>
    interpret(one, ctx, seen, given)
  try {
    switch (part.op) {
      case 'activity':
        return note(await ctx.run(activity<unknown, unknown>(part.name), input))
      case 'step':
        return note(await ctx.step(part.name, () => 0))
      case 'timer':
        return note((await ctx.sleep(`${part.days}d`)) ?? 'slept')
      case 'value':
        return note(part.value)
      case 'throw':
        throw part.what === 'failure' ? new Refused('no', { by: 'program' }) : new Error('broken')
      case 'sequence': {
        let last = input
        for (const one of part.parts) last = await run(one, last)
        return note(last)
      }
      case 'generator': {
        const values: unknown[] = []
        const each = async function* (): AsyncGenerator {
          for (const one of part.parts) yield await run(one)
        }
        for await (const value of each()) values.push(value)
        return note(values)
      }
      case 'all':
        return note(await Promise.all(part.parts.map((one) => run(one))))
      case 'race':
        return note(await Promise.race(part.parts.map((one) => run(one))))
      case 'any':
        return note(await Promise.any(part.parts.map((one) => run(one))))
      case 'allSettled': {
        const all = await Promise.allSettled(part.parts.map((one) => run(one)))
        return note(
          all.map((one) => (one.status === 'fulfilled' ? one.value : describeError(one.reason))),
        )
      }
      case 'then':
        return note(await run(part.first).then((value) => run(part.next, value)))
      case 'catch':
        return note(
          await run(part.first).catch((error: unknown) => run(part.next, describeError(error))),
        )
      case 'finally':
        return note(
          // oxlint-disable-next-line typescript/no-misused-promises -- it is waited for
          await run(part.first).finally(async () => {
            await run(part.next)
          }),
        )
      case 'helper':
        for (let hop = 0; hop < part.hops; hop++) await Promise.resolve()
        return note(await run(part.part))
      case 'loop': {
        let last = input
        for (let i = 0; i < part.times; i++) last = await run(part.part, last)
        return note(last)
      }
      case 'branch': {
        const text = JSON.stringify((await run(part.on)) ?? null)
        return note(await run(text.length % 2 === 0 ? part.even : part.odd))
      }
      case 'late': {
        const early = run(part.early)
        // Whoever looks late at a promise has to say that it is not forgotten.
        early.catch(() => {})
        await run(part.between)
        return note(await early)
      }
    }
  } catch (error) {
    seen.push(`${part.op} threw ${describeError(error)}`)
    throw error
  }
}

/** An error as far as the code can tell errors apart. */
export function describeError(error: unknown): string {
  const { name, message } = error as Error
  const own = error instanceof Refused ? ` by ${error.details.by}` : ''
  const cause =
    (error as Error).cause === undefined ? '' : ` (${describeError((error as Error).cause)})`
  return `${(error as object).constructor.name} ${name}: ${message}${own}${cause}`
}

/** What a program may throw of its own. */
export { Refused }
