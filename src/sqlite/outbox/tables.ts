import { checkOutboxPrefix } from '../../store/outbox-prefix.ts'

/** The names of the tables of one outbox. */
export interface Tables {
  readonly prefix: string
  /** One row: the version of the tables, and the next position. */
  readonly store: string
  readonly topics: string
  readonly partitions: string
  readonly messages: string
  readonly delayed: string
  readonly keys: string
  readonly waiting: string
  readonly deadLetters: string
}

// SQLite keeps names for itself that begin like this.
const RESERVED = /^sqlite(?:_|$)/

/**
 * The tables with this prefix. It becomes a part of SQL texts, so it is checked here, too.
 *
 * No name of a table or index ends with an underscore and another one: otherwise the tables of two
 * prefixes could have the same name.
 */
export function tablesOf(prefix: string): Tables {
  checkOutboxPrefix(prefix, 'outbox: prefix')
  if (RESERVED.test(prefix)) {
    throw new TypeError('outbox: prefix must not be "sqlite" or begin with "sqlite_", on SQLite')
  }
  return {
    prefix,
    store: `${prefix}_store`,
    topics: `${prefix}_topics`,
    partitions: `${prefix}_partitions`,
    messages: `${prefix}_messages`,
    delayed: `${prefix}_delayed`,
    keys: `${prefix}_keys`,
    waiting: `${prefix}_waiting`,
    deadLetters: `${prefix}_dead_letters`,
  }
}

/** What is made of the tables of each prefix, such as SQL texts: made once. */
export function perPrefix<T>(make: (tables: Tables) => T): (prefix: string) => T {
  const made = new Map<string, T>()
  return (prefix) => {
    const known = made.get(prefix)
    if (known !== undefined) return known
    const fresh = make(tablesOf(prefix))
    made.set(prefix, fresh)
    return fresh
  }
}
