import { resolveBackoff } from '../../base/time/backoff.ts'
import { systemClock } from '../../base/time/clock.ts'
import { retry } from '../../base/time/retry.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Session } from '../connect/connections.ts'
import type { Statement } from '../connect/driver.ts'
import { settingsSql } from './procedure-settings.ts'
import { quoted } from '../connect/schema-name.ts'
import { retireSql } from './retired-procedures.ts'
import { FILES, readApplied, type SchemaFiles, schemaState } from './schema-state.ts'
import type { SqlFile } from './sql-file.ts'
import { schemaConflictError } from './schema-conflicts.ts'

// Brings a schema up to date.
//
//   G1. What was applied is noted in the schema itself, with its checksum and the version that did
//       it. A migration is applied once; a procedure again whenever its text differs.
//   G2. All of it is one transaction, under a lock: of two that start at once, the second waits and
//       then finds nothing to do; one that is killed leaves nothing behind.
//   G3. An up-to-date schema is only read, so that a role without the right to create can start.
//   G4. A schema with a migration we do not know is refused before anything is changed, unless that
//       migration says that we may go on beside it. Then, and after any newer version, nothing is
//       changed: an older version never puts its own procedures in the place of newer ones.
//   G5. Tables that others use are waited for in short pieces. Whoever waits for a table for long
//       keeps everybody else from it meanwhile.
//   G6. Nothing of somebody else's is changed, also where it has a name that ours is to have.
//
// Two versions that run side by side call the same procedures. So procedures keep their names and
// what they are given, and get further parameters with defaults. A version that changes what one
// does, and not only how, adds a migration that older ones do not work with.

const LOCK_PIECE = '2s'
const LOCK_PIECES = 15
const PAUSE = resolveBackoff('migrate', { initial: 100, max: 2_000 })
const INSUFFICIENT_PRIVILEGE = '42501'
// Others hold what it needs, or wait for each other with it: those who run take their locks in another
// order than a migration may.
const IN_THE_WAY: readonly unknown[] = ['55P03', '40P01']

/** Where the schema notes what was applied. Columns were added later. */
export const NOTES = `create table if not exists holdfast_migrations (
  name text collate "C" primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
alter table holdfast_migrations
  add column if not exists version text,
  add column if not exists works_with text;`

/** Creates the schema or brings it up to date. Safe from many processes at once. */
export async function migrate(
  session: Session,
  schema: string,
  files: SchemaFiles = FILES,
): Promise<void> {
  if ((await missing(session, schema, files)).left.length === 0) return
  await retry(() => inTransaction(session, schema, files), {
    clock: systemClock(),
    backoff: PAUSE,
    shouldRetry: (error, piece) => {
      if (codeOf(error) === INSUFFICIENT_PRIVILEGE) throw mayNot(schema, files, error)
      if (!IN_THE_WAY.includes(codeOf(error))) return false
      if (piece === LOCK_PIECES) throw inUse(schema, error)
      return true
    },
  })
}

// Whatever the role says, some of which older servers do not know. But a process that stops in the
// middle keeps nobody waiting for long.
const NO_TIMEOUTS: Statement = {
  text: `select set_config(name, case when name like 'idle%' then '60000' else '0' end, true)
    from pg_settings
    where name in (
      'lock_timeout', 'statement_timeout', 'transaction_timeout',
      'idle_in_transaction_session_timeout'
    )`,
}

async function inTransaction(session: Session, schema: string, files: SchemaFiles): Promise<void> {
  await session.query({ text: 'begin isolation level read committed' })
  try {
    await session.query(NO_TIMEOUTS)
    await session.query({
      text: `select pg_advisory_xact_lock(hashtext('holdfast migrate'), hashtext($1))`,
      values: [schema],
    })
    await session.query({ text: `set local lock_timeout to '${LOCK_PIECE}'` })
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
  // Read again: what the lock waited for has been done.
  const { left, isNew } = await missing(session, schema, files)
  if (left.length === 0) return
  const conflict = await schemaConflictError(session, schema, left, isNew)
  if (conflict !== undefined) throw conflict
  await session.query({ text: NOTES })
  // In one text: there are many, and each would be a round trip.
  await session.query({ text: left.map(({ sql }) => sql).join('\n;\n') })
  await session.query({ text: settingsSql(files.procedures) })
  await session.query({ text: retireSql(files.retired ?? []) })
  await session.query({
    text: `insert into holdfast_migrations (name, checksum, works_with, version)
      select *, $4 from unnest($1::text[], $2::text[], $3::text[])
      on conflict (name) do update
      set checksum = excluded.checksum,
          version = excluded.version,
          applied_at = excluded.applied_at`,
    values: [
      left.map(({ name }) => name),
      left.map(({ checksum }) => checksum),
      left.map(({ worksWith = null }) => worksWith),
      files.version,
    ],
  })
}

/**
 * The files to apply, in order, and whether none ever was. Throws when the schema is not one we may
 * use.
 */
async function missing(
  session: Session,
  schema: string,
  files: SchemaFiles,
): Promise<{ readonly left: readonly SqlFile[]; readonly isNew: boolean }> {
  const applied = await readApplied(session, schema)
  const state = schemaState(applied, schema, files)
  if (state.kind === 'refused') throw state.error
  return { left: state.kind === 'behind' ? state.missing : [], isNew: applied.length === 0 }
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

function mayNot(schema: string, { version }: SchemaFiles, cause: unknown): StoreError {
  const words = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(
    'misconfigured',
    'migrate',
    `schema "${schema}" has to be brought to version ${version}, and this role may not do it ` +
      `(${words}); have its owner run what migrationSql({ schema: '${schema}' }) of ` +
      'holdfast/postgres returns',
    { cause },
  )
}

function inUse(schema: string, cause: unknown): StoreError {
  return new StoreError(
    'busy',
    'migrate',
    `tables of schema "${schema}" are in use by transactions that do not end; ` +
      'doctor() of holdfast/postgres names them',
    { cause },
  )
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined
}
