// Random workflow programs: trees of commands, notes, native promise combinators and structure of
// the context. `test/properties/interpret.ts` runs one of them as workflow code.

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

  /** True once in this many times. */
  oneIn(count: number): boolean {
    return this.below(count) === 0
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

/** Something that is asked for and answered. `days: 0` is without a limit. */
export type CommandPart =
  | { readonly op: 'activity' | 'step'; readonly name: string }
  | { readonly op: 'timer'; readonly days: number }
  | { readonly op: 'receive'; readonly channel: 'red' | 'blue'; readonly days: number }
  | { readonly op: 'ask'; readonly answer: Answer; readonly days: number }
  | {
      readonly op: 'child'
      readonly days: number
      readonly close: 'cancel' | 'terminate' | 'abandon'
      /** Whether it is sent something at once. */
      readonly talk: boolean
    }
  | { readonly op: 'start' | 'send' | 'read'; readonly name: string }

/** What becomes of a request that was received. */
export type Answer = 'reply' | 'reject' | 'twice' | 'none'

/** Something that the code does without being answered. */
export type NotePart =
  | { readonly op: 'value'; readonly value: number }
  | { readonly op: 'throw'; readonly what: 'failure' | 'error' }
  | { readonly op: 'set' | 'delete'; readonly key: string }
  | { readonly op: 'get' | 'clear' | 'prune' | 'progress' | 'random' | 'uuid' | 'signal' }
  /** Begins the next execution, unless this is the last one. */
  | { readonly op: 'continue' }

/** What the language has to put parts together. */
export type NativePart =
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
  /** Begun and never looked at. */
  | { readonly op: 'forget'; readonly part: Part }

/** What the context has to put parts together; `own`: the code uses the context of its scope. */
export type ContextPart =
  /** `direct`: commands are branches as they are, not in a function. */
  | {
      readonly op: 'ctx.all' | 'ctx.race'
      readonly parts: readonly Part[]
      readonly own: boolean
      readonly direct: boolean
    }
  | {
      readonly op: 'ctx.map'
      readonly items: number
      readonly concurrency: number
      readonly part: Part
      readonly own: boolean
    }
  | { readonly op: 'ctx.scope'; readonly part: Part; readonly days: number; readonly own: boolean }
  | { readonly op: 'ctx.uncancellable'; readonly part: Part; readonly own: boolean }
  | { readonly op: 'ctx.saga'; readonly steps: readonly { act: Part; undo: Part }[] }
  /** Begun, and cancelled after something else. */
  | { readonly op: 'cancel'; readonly part: Part; readonly after: Part }
  /** What only code with the change does. */
  | { readonly op: 'patched'; readonly change: string; readonly part: Part }

/** A part of a program. */
export type Part = CommandPart | NotePart | NativePart | ContextPart

const KEYS = ['total', 'stage']
const COMMANDS = ['activity', 'step', 'timer', 'receive', 'ask', 'child', 'start', 'send', 'read']

export function isCommandPart(part: Part): part is CommandPart {
  return COMMANDS.includes(part.op)
}

/** Makes a program of about `size` parts. */
export function randomProgram(dice: Dice, size: number): Part {
  const part = randomPart(dice, size)
  switch (dice.below(6)) {
    case 0: {
      const set: Part = { op: 'set', key: dice.pick(KEYS) }
      return { op: 'sequence', parts: [set, part, { op: 'continue' }] }
    }
    case 1:
    case 2:
      return { op: dice.pick(['finally', 'catch']), first: part, next: cleanUp(dice, size >> 2) }
    default:
      return part
  }
}

function randomPart(dice: Dice, size: number): Part {
  if (size <= 1) return dice.oneIn(4) ? note(dice) : command(dice)
  return dice.oneIn(2) ? native(dice, size) : structure(dice, size)
}

function cleanUp(dice: Dice, size: number): Part {
  return { op: 'ctx.uncancellable', part: randomPart(dice, size), own: !dice.oneIn(3) }
}

function partsOf(dice: Dice, size: number, count: number): Part[] {
  return Array.from({ length: count }, () => randomPart(dice, Math.floor((size - 1) / count)))
}

function native(dice: Dice, size: number): NativePart {
  const parts = (count: number): Part[] => partsOf(dice, size, count)
  switch (dice.below(13)) {
    case 0:
    case 1:
    case 2:
      return { op: 'sequence', parts: parts(2 + dice.below(3)) }
    case 3:
      return { op: 'generator', parts: parts(2) }
    case 4:
      return { op: dice.pick(['all', 'allSettled']), parts: parts(1 + dice.below(4)) }
    case 5:
      return { op: dice.pick(['race', 'any']), parts: parts(1 + dice.below(4)) }
    case 6:
    case 7: {
      const [first, next] = parts(2)
      return { op: dice.pick(['then', 'finally', 'catch']), first: first!, next: next! }
    }
    case 8:
      return { op: 'helper', hops: dice.below(20), part: parts(1)[0]! }
    case 9:
      return { op: 'loop', times: 2 + dice.below(2), part: randomPart(dice, size >> 1) }
    case 10: {
      const [on, even, odd] = parts(3)
      return { op: 'branch', on: on!, even: even!, odd: odd! }
    }
    case 11:
      return { op: 'forget', part: parts(1)[0]! }
    default: {
      const [early, between] = parts(2)
      return { op: 'late', early: early!, between: between! }
    }
  }
}

function structure(dice: Dice, size: number): ContextPart {
  const parts = (count: number): Part[] => partsOf(dice, size, count)
  const own = !dice.oneIn(3)
  switch (dice.below(11)) {
    case 0:
    case 1:
    case 2: {
      const op = dice.pick(['ctx.all', 'ctx.race'] as const)
      return { op, parts: parts(1 + dice.below(4)), own, direct: dice.oneIn(2) }
    }
    case 4: {
      const [items, concurrency] = [dice.below(4), 1 + dice.below(3)]
      return { op: 'ctx.map', items, concurrency, part: randomPart(dice, size >> 1), own }
    }
    case 5:
    case 6:
      return { op: 'ctx.scope', part: parts(1)[0]!, days: dice.below(3), own }
    case 7:
      return { op: 'ctx.uncancellable', part: parts(1)[0]!, own }
    case 3:
    case 8: {
      const steps = parts(2 + 2 * dice.below(2))
      const pairs = Array.from({ length: steps.length / 2 }, (_, i) => i * 2)
      return { op: 'ctx.saga', steps: pairs.map((i) => ({ act: steps[i]!, undo: steps[i + 1]! })) }
    }
    case 9: {
      const [part, after] = parts(2)
      return { op: 'cancel', part: part!, after: after! }
    }
    default:
      return { op: 'patched', change: dice.pick(['tax', 'fee']), part: parts(1)[0]! }
  }
}

function command(dice: Dice): CommandPart {
  const days = dice.below(3)
  switch (dice.below(14)) {
    case 0:
    case 1:
      return { op: 'timer', days: 1 + dice.below(5) }
    case 2:
    case 3:
      return { op: 'step', name: dice.pick(['read', 'write', 'look']) }
    case 4:
    case 5:
      return { op: 'activity', name: dice.pick(['mail', 'charge', 'ship']) }
    case 6:
    case 7:
    case 8:
    case 9:
      return { op: 'receive', channel: dice.pick(['red', 'blue']), days }
    case 10:
      return { op: 'ask', answer: dice.pick(['reply', 'reject', 'twice', 'none']), days }
    case 11:
    case 12: {
      const close = dice.pick(['cancel', 'terminate', 'abandon'] as const)
      return { op: 'child', days, close, talk: dice.oneIn(4) }
    }
    default:
      return { op: dice.pick(['start', 'send', 'read']), name: dice.pick(['one', 'two']) }
  }
}

function note(dice: Dice): NotePart {
  switch (dice.below(12)) {
    case 0:
      return { op: 'value', value: dice.below(10) }
    case 1:
      return { op: 'throw', what: dice.pick(['failure', 'error']) }
    case 2:
    case 3:
    case 4:
      return { op: 'set', key: dice.pick(KEYS) }
    case 5:
      return { op: 'delete', key: dice.pick(KEYS) }
    case 6:
      return { op: 'continue' }
    default:
      return { op: dice.pick(['get', 'clear', 'prune', 'progress', 'random', 'uuid', 'signal']) }
  }
}
