// How load is put on a runtime. Every instance is timed by itself, from the call that starts it until
// its result is there: an average over all would be the inverse of the throughput, and say nothing.

import type { Outcome } from './outcome.ts'

// A store that refuses everything would be asked forever.
const MAX_FAILURES = 100

/** Runs one instance and checks what it returns. Throws when something is wrong with it. */
export type RunOne = (number: number) => Promise<void>

/** Keeps this many instances going for this long, and waits for the last ones. */
export async function keepRunning(
  { concurrent, ms }: { readonly concurrent: number; readonly ms: number },
  run: RunOne,
): Promise<Outcome> {
  const outcomes = new Outcomes(run)
  const lane = async (): Promise<void> => {
    while (outcomes.elapsedMs < ms && outcomes.failures.length < MAX_FAILURES) await outcomes.run()
  }
  await Promise.all(Array.from({ length: concurrent }, lane))
  return outcomes.outcome()
}

/** Runs this many instances, all at once. */
export async function runAtOnce(count: number, run: RunOne): Promise<Outcome> {
  const outcomes = new Outcomes(run)
  await Promise.all(Array.from({ length: count }, () => outcomes.run()))
  return outcomes.outcome()
}

class Outcomes {
  readonly failures: string[] = []
  readonly #run: RunOne
  readonly #beganMs = performance.now()
  readonly #tookMs: number[] = []
  readonly #endedMs: number[] = []
  #started = 0

  constructor(run: RunOne) {
    this.#run = run
  }

  get elapsedMs(): number {
    return performance.now() - this.#beganMs
  }

  async run(): Promise<void> {
    const beganMs = this.elapsedMs
    try {
      await this.#run(this.#started++)
      this.#tookMs.push(this.elapsedMs - beganMs)
      this.#endedMs.push(this.elapsedMs)
    } catch (error) {
      this.failures.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    }
  }

  outcome(): Outcome {
    return {
      started: this.#started,
      failures: this.failures,
      seconds: this.elapsedMs / 1_000,
      tookMs: this.#tookMs,
      endedMs: this.#endedMs,
    }
  }
}

/** Throws when a workflow returned something else than it should. */
export function expectResult(actual: unknown, expected: unknown): void {
  if (actual === expected) return
  throw new Error(`the result is ${String(actual)}, wanted ${String(expected)}`)
}
