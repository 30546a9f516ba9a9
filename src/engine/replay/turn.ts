// Whose turn it is. One instance is in turn at a time, in the whole process: promises that two
// instances share would otherwise let one run inside the other's turn, unseen.

/** An instance whose code may be in turn. */
export interface InTurn {
  /** For messages: which workflow, which id. */
  readonly label: string
}

let current: InTurn | undefined
const waiting: (() => void)[] = []

/** The instance whose code may give commands right now. */
export function inTurn(): InTurn | undefined {
  return current
}

/** Begins the turn of one instance, when that of another one (of another runtime) has ended. */
export async function beginTurn(who: InTurn): Promise<void> {
  while (current !== undefined) await new Promise<void>((resolve) => waiting.push(resolve))
  current = who
}

/** Ends the turn that is under way. */
export function endTurn(): void {
  current = undefined
  waiting.shift()?.()
}

/**
 * Resolves when the microtask queue is empty: the code has run until it waits.
 *
 * A tick queued from a microtask runs exactly then. `setImmediate` would let I/O and timers in
 * between, and what they resolve would look like part of the turn.
 */
export function drained(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
}
