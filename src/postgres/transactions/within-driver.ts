import { describe } from '../../base/describe.ts'

// How to send a statement through the transaction of a database driver or an ORM. All of them are
// known by their methods alone: none is imported, and any version that has the method will do.
//
// Statements have one column of text, so that no driver's ideas of types come between.

/** Sends one statement with values of text, and answers its rows. */
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

/** How statements go through `tx`; throws a `TypeError` when it is nothing we know. */
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
    const result = await call(text, values)
    return 'rows' in result ? result.rows : result
  }
}

/** What Kysely's `CompiledQuery.raw` makes. */
function compiledQuery(sql: string, parameters: readonly string[]): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters, query, queryId: { queryId: 'holdfast' } }
}

/** Drizzle takes values only inside objects of its own; as text, a statement has to hold them. */
function withLiterals(text: string, values: readonly string[]): string {
  // A quoted name may hold anything, also what looks like the place of a value.
  return text.replaceAll(/"(?:[^"]|"")*"|\$(\d+)/g, (found, place?: string) =>
    place === undefined ? found : literal(values[Number(place) - 1]!),
  )
}

// With the E, backslashes mean the same whatever `standard_conforming_strings` says.
function literal(value: string): string {
  return ` E'${value.replaceAll('\\', '\\\\').replaceAll(`'`, `''`)}'`
}
