// Counts what a process writes, and ends the process at one of these writes.

import type { CallObserver, Settled } from './test-store.ts'
import { never } from './test-store.ts'
import { isRecorded, WriteTrace } from './write-trace.ts'

/** Where a process ends. */
export interface CrashPoint {
  /** The number of the write, from 1. */
  readonly write: number
  /** Before it reaches the store, or after it is stored and before the process learns of it. */
  readonly when: 'before' | 'after'
}

/**
 * The points before and after each of so many writes, in order; if these are more than `max`, so many of
 * them, spread over all writes, and as many before a write as after one.
 */
export function crashPoints(writes: number, max: number): readonly CrashPoint[] {
  const all = Array.from({ length: writes }, (_, i) => i + 1)
  const [tried, twice] = max < writes ? [spread(all, max), []] : [all, spread(all, max - writes)]
  const both = new Set(twice)
  let isBefore = false
  return tried.flatMap((write): readonly CrashPoint[] => {
    const [before, after] = [{ write, when: 'before' } as const, { write, when: 'after' } as const]
    if (both.has(write)) return [before, after]
    // In turn: every so many of a list of all points may be only those before a write.
    isBefore = !isBefore
    return [isBefore ? before : after]
  })
}

/** At most so many of them, evenly. */
function spread<T>(all: readonly T[], max: number): readonly T[] {
  if (all.length <= max) return all
  return Array.from({ length: max }, (_, i) => all[Math.floor((i * all.length) / max)]!)
}

/** The writes of all processes of a test, in order. */
export class Writes implements CallObserver {
  /** What each write was about, also of one that a crash prevented. */
  readonly descriptions: string[] = []
  /** The same for people: what was written, numbered, and the crash at its place. */
  readonly lines: string[] = []
  /** Whether the process was ended. */
  hasCrashed = false
  readonly #trace = new WriteTrace()
  readonly #point: CrashPoint | undefined
  readonly #crash: () => void
  #written = 0

  /** Calls `crash` at the point, once. */
  constructor(point: CrashPoint | undefined, crash: () => void) {
    this.#point = point
    this.#crash = crash
  }

  /** How many writes there were. */
  get count(): number {
    return this.descriptions.length
  }

  /** A turn issued these commands. */
  get onTurn(): WriteTrace['onTurn'] {
    return this.#trace.onTurn
  }

  async around(
    name: string,
    args: readonly unknown[],
    send: () => Promise<Settled>,
  ): Promise<Settled> {
    if (!isRecorded(name)) return send()
    const what = this.#trace.describe(name, args)
    const write = this.descriptions.push(what)
    if (this.#endsHere(write, 'before')) {
      this.lines.push(`! crash before ${what}`)
      return never()
    }
    this.lines.push(`${++this.#written}. ${what}`)
    const answer = await send()
    if (!this.#endsHere(write, 'after')) return answer
    this.lines.push('! crash')
    return never()
  }

  #endsHere(write: number, when: CrashPoint['when']): boolean {
    if (this.hasCrashed || this.#point?.write !== write || this.#point.when !== when) return false
    this.hasCrashed = true
    this.#crash()
    return true
  }
}
