import { describe } from '../../base/describe.ts'

// Sends statements through the transaction of a database driver or an ORM. They are recognised by
// their methods: none is imported, and every version that has the method works.
//
// Answers have one text column, so that type conversions of the drivers do not matter.

/** Sends one statement with text values, and returns its rows. */
export type Send = (text: string, values: readonly string[]) => Promise<readonly unknown[]>

type Rows = readonly unknown[] | { readonly rows: readonly unknown[] }

interface Drivers {
  /** postgres.js: `sql.begin((tx) => …)`. */
  unsafe(text: string, values: readonly string[]): PromiseLike<Rows>
  /** Prisma: `prisma.$transaction((tx) => …)`. */
  $queryRawUnsafe(text: string, ...values: readonly string[]): PromiseLike<Rows>
  /** Kysely: `db.transaction().execute((tx) => …)`. */
  executeQuery(query: object): PromiseLike<Rows>
  /** pg: a client; TypeORM: a query runner, an entity manager; `ctx.tx` of a transaction. */
  query(text: string, values: readonly string[]): PromiseLike<Rows>
  /** Drizzle: `db.transaction((tx) => …)`. */
  execute(text: string): PromiseLike<Rows>
}

/** How each is called. Drizzle has a `query`, too, which is not a method. */
const CALLS: { readonly [Method in keyof Drivers]: (tx: Pick<Drivers, Method>) => Call } = {
  unsafe: (tx) => (text, values) => tx.unsafe(text, values),
  $queryRawUnsafe: (tx) => (text, values) => tx.$queryRawUnsafe(text, ...values),
  executeQuery: (tx) => (text, values) => tx.executeQuery(compiledQuery(text, values)),
  query: (tx) => (text, values) => tx.query(text, values),
  execute: (tx) => (text, values) => tx.execute(withLiterals(text, values)),
}

type Call = (text: string, values: readonly string[]) => PromiseLike<Rows>

/** How to send statements through `tx`; throws a `TypeError` for an unknown kind. */
export function sendThrough(tx: unknown): Send {
  const methods = Object.keys(CALLS) as (keyof Drivers)[]
  const method = methods.find(
    (name) => typeof (tx as Partial<Drivers> | null)?.[name] === 'function',
  )
  if (method === undefined) {
    throw new TypeError(
      'in: needs a transaction of pg, postgres.js, Kysely, Drizzle, Prisma or TypeORM, got ' +
        describe(tx),
    )
  }
  const call = CALLS[method](tx as Drivers)
  return async (text, values) => {
    const result = (await call(text, values)) as Rows | null | undefined
    const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined)?.rows
    if (Array.isArray(rows)) return rows
    throw new TypeError(
      `${method}() of the transaction returned ${describe(result)} instead of rows; pass the transaction ` +
        'of a driver',
    )
  }
}

/** What Kysely's `CompiledQuery.raw` makes. */
function compiledQuery(sql: string, parameters: readonly string[]): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters, query, queryId: { queryId: 'holdfast' } }
}

/** Drizzle takes values only inside its own objects; a statement as text has to contain them. */
function withLiterals(text: string, values: readonly string[]): string {
  // A quoted name may contain anything, even what looks like a placeholder.
  return text.replaceAll(/"(?:[^"]|"")*"|\$(\d+)/g, (found, place?: string) =>
    place === undefined ? found : literal(values[Number(place) - 1]!),
  )
}

// With the E, backslashes mean the same whatever `standard_conforming_strings` says.
function literal(value: string): string {
  return ` E'${value.replaceAll('\\', '\\\\').replaceAll(`'`, `''`)}'`
}
