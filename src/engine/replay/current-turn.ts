// The current turn. Only one instance in the process has a turn at a time: otherwise a promise that two
// instances share would let one of them run unnoticed inside the other's turn.

/** An execution that can have a turn. */
export interface InTurn {
  /** The workflow and the id, for messages. */
  readonly label: string
}

let current: InTurn | undefined
const waiting: { readonly execution: InTurn; readonly begin: () => void }[] = []

/** The execution whose turn it is, which may issue commands now. */
export function inTurn(): InTurn | undefined {
  return current
}

/**
 * Begins a turn: at once or, while another runtime of the process has a turn, after that turn and those
 * requested before.
 */
export function beginTurn(execution: InTurn): Promise<void> | undefined {
  if (current !== undefined) return new Promise((begin) => waiting.push({ execution, begin }))
  current = execution
  return undefined
}

/** Ends the current turn and begins the next one that was requested. */
export function endTurn(): void {
  const next = waiting.shift()
  current = next?.execution
  next?.begin()
}

let calledStep: string | undefined

/** Calls the code of a step, so that `inStep` tells when it uses the context of the workflow. */
export function callStep<T>(name: string, run: () => T): T {
  calledStep = name
  try {
    return run()
  } finally {
    calledStep = undefined
  }
}

/** The step whose code is being called. */
export function inStep(): string | undefined {
  return calledStep
}

/**
 * Work that yields whatever it has to wait for. Unlike an async function it has no promise of its own,
 * so that a loop over many such works needs only one.
 */
export type Pausing<T> = Generator<PromiseLike<unknown>, T, void>

/** Runs such work to its end. */
export async function untilDone<T>(work: Pausing<T>): Promise<T> {
  let step = work.next()
  for (; step.done !== true; step = work.next()) await step.value
  return step.value
}

/**
 * An awaitable that resolves when the microtask queue is empty, so that the code has run until it waits.
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
