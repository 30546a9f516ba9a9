// What the database is asked, how long that takes, and how much it is about.
//
//   M1. Without a sink nothing is measured, and nothing stands in the way: the connections are used
//       as they are.
//   M2. A sink that throws, or rejects, harms nobody. Its first mistake is a warning of the process.

import { harmless, type Metrics } from '../../base/metrics.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Behind, Connections } from './connections.ts'
import { type Row, ints } from './rows.ts'

/** The sink of a store, which harms nobody (M2). */
export function harmlessSink(given: Metrics): Metrics {
  return harmless(given, (error) => {
    const words = error instanceof Error ? error.message : String(error)
    process.emitWarning(`a metrics sink threw (${words}); further throws are not told`, 'Holdfast')
  })
}

/** The same connections, measured by a sink that harms nobody. */
export function measured(connections: Connections, metrics: Metrics): Connections {
  const meters = new Map<string, Meter>()
  const meterOf = (operation: string): Meter => {
    let meter = meters.get(operation)
    if (meter === undefined) meters.set(operation, (meter = new Meter(metrics, operation)))
    return meter
  }
  return {
    query: (operation, lane, statement, behind) =>
      meterOf(operation).measure(
        () =>
          connections.query(
            operation,
            lane,
            statement,
            behind && meterOf(behind.operation).watch(behind),
          ),
        ({ rows }) => itemsOf(operation, rows as readonly Row[]),
      ),
    session: (operation, use) =>
      meterOf(operation).measure(
        () => connections.session(operation, use),
        () => 1,
      ),
    close: () => connections.close(),
  }
}

/** Measures the calls of one procedure. */
class Meter {
  readonly #metrics: Metrics
  readonly #labels: { readonly procedure: string }

  constructor(metrics: Metrics, procedure: string) {
    this.#metrics = metrics
    this.#labels = { procedure }
  }

  /** The same statement; when it was carried out, that is counted. */
  watch(behind: Behind): Behind {
    const begunMs = performance.now()
    const over = (isDone: boolean): void => {
      behind.over(isDone)
      if (!isDone) return
      this.#metrics.count('holdfast_db_calls', 1, this.#labels)
      this.#metrics.record('holdfast_db_call_ms', performance.now() - begunMs, this.#labels)
    }
    return { ...behind, over }
  }

  async measure<T>(call: () => Promise<T>, items: (answer: T) => number): Promise<T> {
    const begunMs = performance.now()
    try {
      const answer = await call()
      this.#metrics.count('holdfast_db_items', items(answer), this.#labels)
      return answer
    } catch (error) {
      const code = error instanceof StoreError ? error.code : 'unexpected'
      this.#metrics.count('holdfast_db_errors', 1, { ...this.#labels, code })
      throw error
    } finally {
      const ms = performance.now() - begunMs
      this.#metrics.count('holdfast_db_calls', 1, this.#labels)
      this.#metrics.record('holdfast_db_call_ms', ms, this.#labels)
    }
  }
}

type Count = (rows: readonly Row[]) => number

/** Of procedures whose answer does not have one row for each item. */
const COUNTED: Readonly<Record<string, Count>> = {
  beat_tasks: lettersIn('wanted'),
  claim: numbersIn('iids'),
  claim_tasks: numbersIn('iids'),
  commit_batch: lettersIn('starts', 'turns'),
  finish_tasks: lettersIn('verdicts'),
  load: (rows) => rows.filter(({ part }) => part === 'instance').length,
  post_nowait: lettersIn('verdicts'),
  post_skip_locked: lettersIn('verdicts'),
  start_nowait: lettersIn('starts'),
  start_skip_locked: lettersIn('starts'),
  suspend: lettersIn('suspended'),
  terminate: lettersIn('terminated'),
  tick: numbersIn('mail'),
  verify: lettersIn('same'),
}

/** How many things a call was about, or found: items of a batch, claims, messages, rows. */
function itemsOf(procedure: string, rows: readonly Row[]): number {
  const count = COUNTED[procedure]
  return count === undefined ? rows.length : count(rows)
}

/** Answers that are a letter for each item. */
function lettersIn(...columns: readonly string[]): Count {
  return ([row]) => columns.reduce((sum, column) => sum + (row?.[column]?.length ?? 0), 0)
}

/** Answers that are lists of numbers. */
function numbersIn(column: string): Count {
  return ([row]) => (row === undefined ? 0 : ints(row, column).length)
}
