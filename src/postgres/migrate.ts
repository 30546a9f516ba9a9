import { StoreError } from '../store/store-error.ts'
import type { Session } from './connections.ts'
import { MIGRATIONS, PROCEDURES } from './generated/sql.ts'
import { quoted } from './schema-name.ts'
import type { SqlFile } from './sql-file.ts'

// Brings a schema up to date.
//
//   G1. What was applied is noted in the schema itself, with its checksum. A migration is applied
//       once; a procedure again whenever its text differs.
//   G2. All of it is one transaction, under a lock: of two that start at once, the second waits and
//       then finds nothing to do.
//   G3. An up-to-date schema is only read, so that a role without the right to create can start.
//   G4. A schema with a migration we do not know is refused before anything is changed.
//
// Two versions that run side by side call the same procedures. A version that changes what one does,
// and not only how, adds a migration too, even an empty one, so that older ones refuse to start and
// do not put the old text back.

/** What to bring a schema to; tests give their own. */
export interface SchemaFiles {
  readonly migrations: readonly SqlFile[]
  readonly procedures: readonly SqlFile[]
}

const FILES: SchemaFiles = { migrations: MIGRATIONS, procedures: PROCEDURES }

/** Creates the schema or brings it up to date. Safe from many processes at once. */
export async function migrate(
  session: Session,
  schema: string,
  files: SchemaFiles = FILES,
): Promise<void> {
  if (missing(await readApplied(session, schema), schema, files).length === 0) return

  await session.query({ text: 'begin isolation level read committed' })
  try {
    await session.query({
      text: `select pg_advisory_xact_lock(hashtext('holdfast migrate'), hashtext($1))`,
      values: [schema],
    })
    await apply(session, schema, files)
    await session.query({ text: 'commit' })
  } catch (error) {
    // The first error is the one to tell; a broken connection rolls back by itself.
    await session.query({ text: 'rollback' }).catch(() => {})
    throw error
  }
}

async function apply(session: Session, schema: string, files: SchemaFiles): Promise<void> {
  await createSchema(session, schema)
  // Temporary tables of the session are looked at last: by default they would come first.
  await session.query({ text: `set local search_path to ${quoted(schema)}, pg_temp` })
  await session.query({
    text: `create table if not exists holdfast_migrations (
      name text collate "C" primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`,
  })
  // Read again: what the lock waited for has been done.
  const left = missing(await readApplied(session, schema), schema, files)
  if (left.length === 0) return
  // In one text: there are many, and each would be a round trip.
  await session.query({ text: left.map(({ sql }) => sql).join('\n;\n') })
  await session.query({
    text: `insert into holdfast_migrations (name, checksum)
      select * from unnest($1::text[], $2::text[])
      on conflict (name) do update
      set checksum = excluded.checksum,
          applied_at = excluded.applied_at`,
    values: [left.map(({ name }) => name), left.map(({ checksum }) => checksum)],
  })
}

/** Not `if not exists` alone, which asks for the right to create also when there is nothing to do. */
async function createSchema(session: Session, schema: string): Promise<void> {
  const { rows } = await session.query({
    text: 'select 1 from pg_namespace where nspname = $1',
    values: [schema],
  })
  if (rows.length > 0) return
  await session.query({ text: `create schema if not exists ${quoted(schema)}` })
}

/** Checksums by name; none when the schema is new. */
async function readApplied(session: Session, schema: string): Promise<ReadonlyMap<string, string>> {
  const table = `${quoted(schema)}.holdfast_migrations`
  const { rows } = await session.query({
    text: 'select to_regclass($1) is not null as known',
    values: [table],
  })
  if (!(rows[0] as { known: boolean }).known) return new Map()
  const applied = await session.query({ text: `select name, checksum from ${table}` })
  return new Map(
    (applied.rows as { name: string; checksum: string }[]).map((row) => [row.name, row.checksum]),
  )
}

/** The files to apply, in order. Throws when the schema is not one we may touch. */
function missing(
  applied: ReadonlyMap<string, string>,
  schema: string,
  { migrations, procedures }: SchemaFiles,
): SqlFile[] {
  const known = new Set(migrations.map(({ name }) => name))
  const newer = [...applied.keys()].filter(
    (name) => name.startsWith('migrations/') && !known.has(name),
  )
  if (newer.length > 0) {
    throw new StoreError(
      'newer_schema',
      'migrate',
      `schema "${schema}" was brought up to date by a newer version of Holdfast; ` +
        `unknown here: ${newer.join(', ')}`,
    )
  }
  const edited = migrations.find(
    ({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum,
  )
  if (edited !== undefined) {
    throw new StoreError(
      'misconfigured',
      'migrate',
      `schema "${schema}" was made with another text of ${edited.name}; ` +
        'use another schema, or the version of Holdfast that made this one',
    )
  }
  return [
    ...migrations.filter(({ name }) => !applied.has(name)),
    ...procedures.filter(({ name, checksum }) => applied.get(name) !== checksum),
  ]
}
