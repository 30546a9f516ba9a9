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

// Creates or upgrades a schema.
//
//   - The schema records which files were applied, with their checksums and the version that applied
//     them. A migration is applied once; a procedure again whenever its text differs.
//   - An upgrade is one transaction, under a lock: of two processes that start at once, the second
//     waits and then finds nothing to do; one that is killed leaves nothing behind.
//   - An up-to-date schema is only read, so that a role that is not allowed to create can start.
//   - A schema with an unknown migration is refused before anything is changed, unless that migration
//     says that older versions can run beside it. In that case, and after any newer version, nothing
//     is changed: an older version never replaces newer procedures.
//   - Locks on tables are waited for in short attempts: a migration that waits for a table blocks
//     all other transactions that need it.
//   - Objects of other applications are never changed, whatever their names.
//
// Versions that run side by side call the same procedures. So a procedure that processes call keeps
// its name and parameters, and further parameters have defaults. A version that changes what one
// does, rather than how, adds a migration that older versions do not work with. Procedures that only
// other procedures call can be renamed or removed: see `retired-procedures.ts`.

const LOCK_PIECE = '2s'
const LOCK_PIECES = 15
const PAUSE = resolveBackoff('migrate', { initial: 100, max: 2_000 })
const INSUFFICIENT_PRIVILEGE = '42501'
// Lock timeout and deadlock: running processes take their locks in another order than a migration.
const IN_THE_WAY: readonly unknown[] = ['55P03', '40P01']

/** The table that records what was applied. Some columns were added later. */
export const NOTES = `create table if not exists holdfast_migrations (
  name text collate "C" primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
alter table holdfast_migrations
  add column if not exists version text,
  add column if not exists works_with text;`

/** Creates or upgrades the schema. Safe to call from many processes at once. */
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

// Overrides time limits of the role, some of which older servers do not have. But a process that stops
// in the middle of a migration blocks others for a minute at most.
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
    // The first error is the one to throw; a broken connection rolls back by itself.
    await session.query({ text: 'rollback' }).catch(() => {})
    throw error
  }
}

async function apply(session: Session, schema: string, files: SchemaFiles): Promise<void> {
  await createSchema(session, schema)
  // Temporary tables come last; by default they would come first.
  await session.query({ text: `set local search_path to ${quoted(schema)}, pg_temp` })
  // Read again: another process may have upgraded the schema while this one waited for the lock.
  const { left, isNew } = await missing(session, schema, files)
  if (left.length === 0) return
  const conflict = await schemaConflictError(session, schema, left, isNew, files.family)
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
      left.map(({ name }) => (files.family ?? '') + name),
      left.map(({ checksum }) => checksum),
      left.map(({ worksWith = null }) => worksWith),
      files.version,
    ],
  })
}

/**
 * The files to apply, in order, and whether none was applied before. Throws when this version must not
 * use the schema.
 */
async function missing(
  session: Session,
  schema: string,
  files: SchemaFiles,
): Promise<{ readonly left: readonly SqlFile[]; readonly isNew: boolean }> {
  const applied = await readApplied(session, schema, files.family)
  const state = schemaState(applied, schema, files)
  if (state.kind === 'refused') throw state.error
  return { left: state.kind === 'behind' ? state.missing : [], isNew: applied.length === 0 }
}

/** Not `if not exists` alone: that needs the privilege to create even when there is nothing to do. */
async function createSchema(session: Session, schema: string): Promise<void> {
  const { rows } = await session.query({
    text: 'select 1 from pg_namespace where nspname = $1',
    values: [schema],
  })
  if (rows.length > 0) return
  await session.query({ text: `create schema if not exists ${quoted(schema)}` })
}

function mayNot(schema: string, { version, family }: SchemaFiles, cause: unknown): StoreError {
  const [, prefix] = family?.split('/') ?? []
  const outbox = prefix === undefined ? '' : `, outbox: ['${prefix}']`
  const words = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(
    'misconfigured',
    'migrate',
    `schema "${schema}" needs an upgrade to version ${version}, which this role is not allowed to ` +
      `do (${words}); have its owner run the SQL of migrationSql({ schema: '${schema}'${outbox} }) from ` +
      'holdfast/postgres',
    { cause },
  )
}

function inUse(schema: string, cause: unknown): StoreError {
  return new StoreError(
    'busy',
    'migrate',
    `tables of schema "${schema}" are locked by long transactions; ` +
      'doctor() from holdfast/postgres lists them',
    { cause },
  )
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined
}
