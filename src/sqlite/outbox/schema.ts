import { StoreError } from '../../store/store-error.ts'
import type { Transaction } from '../file/database.ts'
import { OUTBOX } from './migrations/0001_outbox.ts'
import { perPrefix } from './tables.ts'

/** In order; the version of the tables is how many of them they have had. Each is a list of statements. */
const MIGRATIONS: readonly (readonly string[])[] = [OUTBOX]

const SQL = perPrefix((t) => ({
  store: t.store,
  version: `select version from ${t.store}`,
  setVersion: `update ${t.store} set version = ?`,
  migrations: MIGRATIONS.map((statements) =>
    statements.map((text) => text.replaceAll(/\boutbox_/g, `${t.prefix}_`)),
  ),
}))

const IS_OURS = `
  select count(*) = 2 as found from pragma_table_info(?) where name in ('version', 'next_position')`

const FOUND = `select type, name from sqlite_schema where name = ? collate nocase`

/** Creates the tables of an outbox, or brings them up to date. To be called in a write transaction. */
export function openOutbox(tx: Transaction, prefix: string): void {
  const { store, setVersion, migrations } = SQL(prefix)
  const from = versionOf(tx, prefix)
  if (from > migrations.length) {
    throw new StoreError(
      'newer_schema',
      'sqlite outbox',
      `${store} has schema ${from}, this version of holdfast knows ${migrations.length}`,
    )
  }
  if (from === migrations.length) return
  const missing = migrations.slice(from).flat()
  checkNames(tx, missing)
  for (const statement of missing) tx.sql(statement).run()
  tx.sql(setVersion).run(migrations.length)
}

/** How many migrations the tables of an outbox have had, and how many there are. */
export function outboxMigrations(
  tx: Pick<Transaction, 'sql'>,
  prefix: string,
): { applied: number; known: number } {
  return { applied: versionOf(tx, prefix), known: MIGRATIONS.length }
}

function versionOf(tx: Pick<Transaction, 'sql'>, prefix: string): number {
  const { store, version } = SQL(prefix)
  if ((tx.sql(IS_OURS).get(store) as { found: number }).found === 0) return 0
  return (tx.sql(version).get() as { version: number }).version
}

/** Throws when the file has tables or indexes of others with names that these statements need. */
function checkNames(tx: Transaction, statements: readonly string[]): void {
  const found = statements.flatMap((statement) => {
    const [, name] = /^create (?:table|index) (\w+)/.exec(statement) ?? []
    if (name === undefined) return []
    return tx.sql(FOUND).all(name) as { type: string; name: string }[]
  })
  if (found.length === 0) return
  const names = found.map(({ type, name }) => `${type} "${name}"`).join(', ')
  throw new StoreError(
    'misconfigured',
    'sqlite outbox',
    `the file already contains objects with names that Holdfast needs: ${names}; nothing was changed; ` +
      `use another prefix, as in outbox(client, { prefix: 'events' })`,
  )
}
