// Whose turn it is. One instance is in turn at a time, in the whole process: promises that two
// instances share would otherwise let one run inside the other's turn, unseen.

/** An instance whose code may be in turn. */
export interface InTurn {
  /** For messages: which workflow, which id. */
  readonly label: string
}

let current: InTurn | undefined
const waiting: { readonly who: InTurn; readonly begin: () => void }[] = []

/** The instance whose code may give commands right now. */
export function inTurn(): InTurn | undefined {
  return current
}

/**
 * Begins the turn of one instance: at once, or, when an instance of another runtime is in turn, as
 * soon as that turn and those that were asked for before have ended.
 */
export function beginTurn(who: InTurn): Promise<void> | undefined {
  if (current !== undefined) return new Promise((begin) => waiting.push({ who, begin }))
  current = who
  return undefined
}

/** Ends the turn that is under way. It is the next one's from then on, whoever asks meanwhile. */
export function endTurn(): void {
  const next = waiting.shift()
  current = next?.who
  next?.begin()
}

let calledStep: string | undefined

/** Calls the code of a step: whatever of a workflow's context it uses at once is known by that. */
export function callStep<T>(name: string, run: () => T): T {
  calledStep = name
  try {
    return run()
  } finally {
    calledStep = undefined
  }
}

/** The step whose code is being called right now. */
export function inStep(): string | undefined {
  return calledStep
}

/**
 * Work that stops wherever something has to be waited for, and yields that. Unlike an async function
 * it has no promise of its own: who does one such work after the other waits with a single one.
 */
export type Pausing<T> = Generator<PromiseLike<unknown>, T, void>

/** Does such work to its end. */
export async function untilDone<T>(work: Pausing<T>): Promise<T> {
  let step = work.next()
  for (; step.done !== true; step = work.next()) await step.value
  return step.value
}

/**
 * To be waited for: resolves when the microtask queue is empty, so the code has run until it waits.
 *
 * A tick queued from a microtask runs exactly then, and `then` of what is awaited is called by a
 * microtask. `setImmediate` would let I/O and timers in between, and what they resolve would look
 * like part of the turn.
 */
export const drained = {
  // oxlint-disable-next-line unicorn/no-thenable -- a promise for each turn would cost more than the turn
  then(resume: () => void): void {
    process.nextTick(resume)
  },
} as PromiseLike<void>
