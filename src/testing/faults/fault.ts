import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { number, oneOf, option, resolveOptions, unknownName } from '../../base/options.ts'
import { PROCEDURES } from '../../postgres/schema/sql.generated.ts'

/**
 * A fault that hits statements of a `faultyPostgres`. Which ones: `of`, `nth`, `times`, `share`;
 * all that are given must match. What happens to them: `delay`, `sqlState`, `error`; at least one.
 */
export interface Fault {
  /**
   * Procedures by their names (`commit_batch`, `claim`, `tick`, `tell_hints`, …; see
   * `docs/reference/schema.sql`), and other statements by their first word (`listen`, `begin`,
   * `commit`, `insert`, …). One, or several.
   *
   * @default every statement
   */
  readonly of?: string | readonly string[]
  /** Only the one with this number, counted from 1, among those that `of` names. */
  readonly nth?: number
  /** At most this many of them. */
  readonly times?: number
  /** About this share of them, from 0 to 1, as `random` decides. */
  readonly share?: number
  /** Numbers from 0 to 1, for `share`: use a seeded generator to get the same choice again. */
  readonly random?: () => number
  /** Waits this long before the statement is sent. */
  readonly delay?: Duration
  /**
   * The server answers with this error: a SQLSTATE of five characters, such as `40001`. The server
   * itself raises it, so that a transaction is then in the state that such an error leaves it in.
   */
  readonly sqlState?: string
  /**
   * Throws this instead, as if the code that sends the statement had a bug. Nothing is sent to the
   * server.
   */
  readonly error?: () => Error
  /**
   * `before`: the statement is not executed · `after`: it is executed, and its answer is lost.
   *
   * @default 'before'
   */
  readonly when?: 'before' | 'after'
}

/** A fault that is active until it is disposed of. */
export interface Injected extends Disposable {
  /** How often it struck. */
  readonly struck: number
  /** Resolves when it has struck this often in all. */
  untilStruck(count?: number): Promise<void>
}

/** What a fault does to a statement. */
export interface Strike {
  readonly delayMs: number
  readonly sqlState: string | undefined
  readonly error: (() => Error) | undefined
  readonly when: 'before' | 'after'
}

type Resolved = ReturnType<typeof resolveFault>

/** A fault, and how often it has struck. */
export class ActiveFault implements Injected {
  readonly #fault: Resolved
  readonly #end: (fault: ActiveFault) => void
  readonly #waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()
  #met = 0
  #struck = 0

  constructor(fault: Fault, end: (fault: ActiveFault) => void) {
    this.#fault = resolveFault(fault)
    this.#end = end
  }

  get struck(): number {
    return this.#struck
  }

  untilStruck(count = 1): Promise<void> {
    if (this.#struck >= count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.add({ count, resolve }))
  }

  [Symbol.dispose](): void {
    this.#end(this)
  }

  /** What it does to this statement, if anything. */
  strike(statement: string): Strike | undefined {
    const { of, nth, times, share, random } = this.#fault
    if (of.length > 0 && !of.includes(statement)) return undefined
    this.#met++
    if (nth > 0 && this.#met !== nth) return undefined
    if (this.#struck >= times || (share < 1 && random() >= share)) return undefined
    this.#struck++
    for (const waiting of this.#waiting) {
      if (waiting.count > this.#struck) continue
      this.#waiting.delete(waiting)
      waiting.resolve()
    }
    return this.#fault
  }
}

// First words of statements that are sent besides calls of procedures.
const WORDS =
  `begin commit rollback listen unlisten select insert update delete set create alter drop
  savepoint release do with truncate lock notify`.split(/\s+/)

const NO_NAMES: readonly string[] = []

function resolveFault(fault: Fault) {
  const resolved = resolveOptions('fault', fault, {
    of: option(statementNames, NO_NAMES),
    nth: number({ min: 1, integer: true }, 0),
    times: number({ min: 1, integer: true }, Infinity),
    share: number({ min: 0, max: 1 }, 1),
    random: option(numbers, Math.random),
    delay: duration(0),
    sqlState: option(sqlStateOf, undefined),
    error: option(errors, undefined),
    when: oneOf(['before', 'after'], 'before'),
  })
  const { delay, sqlState, error } = resolved
  if (delay === 0 && sqlState === undefined && error === undefined) {
    throw new TypeError('fault: needs delay, sqlState or error')
  }
  if (sqlState !== undefined && error !== undefined) {
    throw new TypeError('fault: give sqlState or error, not both')
  }
  return { ...resolved, delayMs: delay }
}

function statementNames(value: unknown, what: string): readonly string[] {
  const procedures = PROCEDURES.map(({ name }) => name.slice(name.indexOf('/') + 1))
  const known = [...procedures, ...WORDS]
  return [value].flat().map((name) => {
    if (typeof name !== 'string') {
      throw new TypeError(`${what} must be the name of a procedure, got ${describe(name)}`)
    }
    if (!known.includes(name)) throw unknownName(what, 'procedure or statement', name, known)
    return name
  })
}

function sqlStateOf(value: unknown, what: string): string {
  if (typeof value === 'string' && /^(?!00)[0-9A-Z]{5}$/.test(value)) return value
  throw new RangeError(
    `${what} must be five digits or capital letters, such as '40001', got ${describe(value)}`,
  )
}

function numbers(value: unknown, what: string): () => number {
  return aFunction(value, what) as () => number
}

function errors(value: unknown, what: string): () => Error {
  return aFunction(value, what) as () => Error
}

function aFunction(value: unknown, what: string): unknown {
  if (typeof value === 'function') return value
  throw new TypeError(`${what} must be a function, got ${describe(value)}`)
}
