// The drivers and ORMs whose transactions `client.in(tx)` takes, each in a place of its own.

import { sql } from 'drizzle-orm'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { postgres } from '../../src/postgres/index.ts'
import { type DriverName, sqlite } from '../../src/sqlite/index.ts'
import { connect, type Store, type Transaction } from '../../src/index.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { openPrisma } from './prisma.ts'
import { SQLITE_DRIVERS, type SqliteHandle } from './sqlite-handle.ts'

/** A driver, and the store in the same database. */
export interface Place extends AsyncDisposable {
  readonly store: Store
  /** The user's own table. */
  readonly table: string
  /** Something of the driver that is in no transaction. */
  readonly outside: Transaction
  /** Runs `work` in a transaction: committed when it resolves, rolled back when it rejects. */
  transaction<T>(work: (tx: Inside) => Promise<T>): Promise<T>
  /** Runs SQL beside it, and answers its rows. */
  look<Row = Record<string, unknown>>(text: string): Promise<Row[]>
}

/** A transaction that was begun, and the user's own way to run SQL in it. */
export interface Inside {
  readonly tx: Transaction
  readonly run: (text: string) => Promise<unknown>
}

/** What a driver does by itself. */
interface Driver {
  readonly outside: Transaction
  transaction<T>(work: (tx: Inside) => Promise<T>): Promise<T>
  close(): Promise<unknown>
}

/** Every driver, by name. */
export const DRIVERS: readonly (readonly [name: string, open: () => Promise<Place>])[] = [
  ['pg', () => onPostgres(async (url) => overPg(url))],
  ['postgres.js', () => onPostgres(async (url) => overPostgresJs(url))],
  ['Kysely', () => onPostgres(async (url) => overKysely(url))],
  ['Drizzle over pg', () => onPostgres(async (url) => overDrizzlePg(url))],
  ['Drizzle over postgres.js', () => onPostgres(async (url) => overDrizzlePostgres(url))],
  ['Prisma', () => onPostgres(overPrisma)],
  [
    "an object of the shape of TypeORM's query runner",
    () => onPostgres(async (url) => typeOrm(url)),
  ],
  ...SQLITE_DRIVERS.map(([name, open]) => [name, () => onSqlite(name, open)] as const),
]

/** A place on PostgreSQL. */
export async function onPostgres(open: (url: string) => Promise<Driver>): Promise<Place> {
  // Its name holds what looks like places of values: no driver may put any there.
  const database = await testSchema('within $1 $2')
  const { url, schema } = database
  const driver = await open(url)
  await database.query(`create schema "${schema}"`)
  const table = `"${schema}".entries`
  await database.query(`create table ${table} (entry text not null)`)
  return {
    store: postgres({ url, schema }),
    table,
    outside: driver.outside,
    transaction: (work) => driver.transaction(work),
    look: (text) => database.query(text),
    async [Symbol.asyncDispose]() {
      await driver.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** With one connection, on which transactions are begun and ended by hand. */
export function overPg(url: string): Driver {
  const pool = new Pool({ connectionString: url })
  return {
    outside: pool,
    async transaction(work) {
      const client = await pool.connect()
      try {
        return await byHand(client, (text) => client.query(text), work)
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

function overPostgresJs(url: string): Driver {
  const connections = postgresJs(url, { max: 2, onnotice: () => {} })
  return {
    outside: connections,
    transaction: (work) =>
      connections.begin((tx) => work({ tx, run: (text) => tx.unsafe(text) })) as Promise<never>,
    close: () => connections.end(),
  }
}

function overKysely(url: string): Driver {
  const db = new Kysely({
    dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }),
  })
  return {
    outside: db,
    transaction: (work) =>
      db
        .transaction()
        .execute((tx) => work({ tx, run: (text) => tx.executeQuery(CompiledQuery.raw(text)) })),
    close: () => db.destroy(),
  }
}

function overDrizzlePg(url: string): Driver {
  const pool = new Pool({ connectionString: url })
  const db = drizzlePg(pool)
  return {
    outside: db,
    transaction: (work) =>
      db.transaction((tx) => work({ tx, run: (text) => tx.execute(sql.raw(text)) })),
    close: () => pool.end(),
  }
}

function overDrizzlePostgres(url: string): Driver {
  const connections = postgresJs(url, { max: 2, onnotice: () => {} })
  const db = drizzlePostgres(connections)
  return {
    outside: db,
    transaction: (work) =>
      db.transaction((tx) => work({ tx, run: async (text) => tx.execute(sql.raw(text)) })),
    close: () => connections.end(),
  }
}

async function overPrisma(url: string): Promise<Driver> {
  const prisma = openPrisma(url)
  return {
    outside: prisma,
    transaction: (work) =>
      prisma.$transaction((tx) => work({ tx, run: (text) => tx.$executeRawUnsafe(text) })),
    close: () => prisma.$disconnect(),
  }
}

/** Its `query` answers the rows alone. */
function typeOrm(url: string): Driver {
  const pool = new Pool({ connectionString: url })
  const query = async (text: string, values: unknown[] = []) =>
    (await pool.query(text, values)).rows
  return {
    outside: { query },
    async transaction(work) {
      const client = await pool.connect()
      const runner = {
        query: async (text: string, values: unknown[] = []) =>
          (await client.query(text, values)).rows as unknown[],
      }
      try {
        return await byHand(runner, runner.query, work)
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

/** A place on SQLite. */
export async function onSqlite(
  driver: DriverName,
  open: (path: string) => SqliteHandle,
): Promise<Place> {
  const file = tempFile()
  const store = sqlite({ path: file.path, durability: 'os', driver })
  // The store creates the file: one with tables of another program would be refused.
  const maker = connect(store)
  await maker.get('nobody').info()
  const handle = open(file.path)
  handle.exec('create table entries (entry text not null)')
  const outside = open(file.path)
  return {
    store,
    table: 'entries',
    outside,
    transaction: (work) =>
      byHand(handle, async (text) => handle.exec(text), work, 'begin immediate'),
    look: async <Row>(text: string) => outside.prepare(text).all() as Row[],
    async [Symbol.asyncDispose]() {
      handle.close()
      outside.close()
      await maker.close()
      file[Symbol.dispose]()
    },
  }
}

async function byHand<T>(
  tx: Transaction,
  run: (text: string) => Promise<unknown>,
  work: (tx: Inside) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  await run(begin)
  try {
    const result = await work({ tx, run })
    await run('commit')
    return result
  } catch (error) {
    await run('rollback')
    throw error
  }
}
