// Measures database calls: how many, how long they take, how many items they carry.
//
//   - Without a sink nothing is measured, and the connections are used as they are.
//   - A sink that throws or rejects breaks nothing. Its first error becomes a process warning.

import { harmless, type Metrics } from '../../base/metrics.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Behind, Connections } from './connections.ts'
import { type Row, ints } from './rows.ts'

/** A sink that never throws. A store has no log: the first error becomes a warning of the process. */
export function harmlessSink(given: Metrics): Metrics {
  return harmless(given, {
    error: (data, message) => {
      const { err } = data as { err: unknown }
      const words = err instanceof Error ? err.message : String(err)
      process.emitWarning(`${message}: ${words}`, 'Holdfast')
    },
  })
}

/** The same connections, with their calls measured. */
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

  /** The same statement, counted when it was carried out. */
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

/** Procedures whose answer does not have one row for each item. */
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

/** How many items a call carried or found: items of a batch, claims, messages, rows. */
function itemsOf(procedure: string, rows: readonly Row[]): number {
  const count = COUNTED[procedure]
  return count === undefined ? rows.length : count(rows)
}

/** For answers with a letter for each item. */
function lettersIn(...columns: readonly string[]): Count {
  return ([row]) => columns.reduce((sum, column) => sum + (row?.[column]?.length ?? 0), 0)
}

/** For answers that are lists of numbers. */
function numbersIn(column: string): Count {
  return ([row]) => (row === undefined ? 0 : ints(row, column).length)
}
