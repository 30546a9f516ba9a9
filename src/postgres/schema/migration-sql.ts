import { list, option, resolveOptions } from '../../base/options.ts'
import { checkOutboxPrefix } from '../../store/outbox-prefix.ts'
import { NOTES } from './migrate.ts'
import { settingsSql } from './procedure-settings.ts'
import { checkSchemaName, quoted } from '../connect/schema-name.ts'
import { retireSql } from './retired-procedures.ts'
import { outboxFiles } from './outbox-files.ts'
import { FILES, type SchemaFiles } from './schema-state.ts'
import type { SqlFile } from './sql-file.ts'
import { functionsOf, indexesOf, schemaConflictsSql, tablesOf } from './schema-conflicts.ts'

/**
 * The SQL that creates or upgrades a schema, for users who run migrations themselves. It is one
 * transaction, can be run again, and refuses a schema of a newer version, and one that contains
 * other tables or functions with the same names.
 *
 * Afterwards a process can open the store with a role that is not allowed to create anything.
 */
export function migrationSql(options?: {
  /** The schema of the tables. @default 'holdfast' */
  readonly schema?: string
  /** The prefixes of outboxes whose tables to create as well. @default none */
  readonly outbox?: readonly string[]
}): string {
  const { schema, outbox } = resolveOptions('migrationSql', options, {
    schema: option(checkSchemaName, 'holdfast'),
    outbox: list(checkOutboxPrefix),
  })
  return [FILES, ...outbox.map(outboxFiles)].map((files) => sqlFor(schema, files)).join('\n')
}

/** The same for given files, for tests. */
export function sqlFor(
  schema: string,
  { migrations, procedures, retired = [], version, family = '' }: SchemaFiles,
): string {
  const recorded = (file: SqlFile): SqlFile => ({ ...file, name: family + file.name })
  return [
    `-- Holdfast ${version}: creates or upgrades the schema ${quoted(schema)}.`,
    'begin;',
    // No notices about what exists already or cannot be dropped; reset at the end of the transaction.
    'set local client_min_messages to warning;',
    `select pg_advisory_xact_lock(hashtext('holdfast migrate'), hashtext(${literal(schema)}));`,
    `create schema if not exists ${quoted(schema)};`,
    `set local search_path to ${quoted(schema)}, pg_temp;`,
    NOTES,
    refusal(migrations.map(recorded), version, family),
    conflictRefusal(schema, [...migrations, ...procedures], family),
    ...migrations.map((file) => once(recorded(file), version)),
    ...procedures.flatMap((file) => [ended(file.sql), noted(recorded(file), version)]),
    settingsSql(procedures),
    retireSql(retired),
    'commit;',
    '',
  ].join('\n\n')
}

/**
 * Fails when an unknown migration was applied, or a newer version has written procedures: an older
 * version never replaces them.
 */
function refusal(migrations: readonly SqlFile[], version: string, family: string): string {
  const known = migrations.map(({ name }) => literal(name)).join(', ')
  return block(`
declare
  v_unknown text := (
    select string_agg(name, ', ' order by name)
    from holdfast_migrations
    where name like ${literal(`${family}migrations/%`)}
      and name <> all (array[${known}]::text[])
  );
  v_newer text := (
    select version
    from holdfast_migrations
    where ${numbersOf('version')} > ${numbersOf(literal(version))}
    order by ${numbersOf('version')} desc
    limit 1
  );
begin
  if v_unknown is not null then
    raise exception 'this schema was upgraded by a newer version of Holdfast: %', v_unknown;
  end if;
  if v_newer is not null then
    raise exception 'this schema was upgraded by version % of Holdfast, this is %',
      v_newer, ${literal(version)};
  end if;
end`)
}

/** Fails when the schema is new to us and contains objects with names that we need. */
function conflictRefusal(schema: string, files: readonly SqlFile[], family: string): string {
  const isOurs = family === '' ? `name not like 'outbox/%'` : `name like ${literal(`${family}%`)}`
  const array = (names: readonly string[]): string =>
    `array[${names.map((name) => literal(name)).join(', ')}]::text[]`
  return block(`
declare
  v_conflicts text := (
    ${schemaConflictsSql(literal(schema), array([...tablesOf(files), ...indexesOf(files)]), array(functionsOf(files)))}
  );
begin
  if v_conflicts is not null and not exists (select from holdfast_migrations where ${isOurs}) then
    raise exception 'this schema already contains objects with names that Holdfast needs: %; '
      'use another ${family === '' ? 'schema' : 'prefix or schema'}', v_conflicts;
  end if;
end`)
}

/** The sort key of a version, in SQL; pre-releases of one version count as equal. */
function numbersOf(version: string): string {
  return `string_to_array(split_part(${version}, '-', 1), '.')::bigint[]`
}

/** A migration, unless it was applied before. */
function once(file: SqlFile, version: string): string {
  return block(`
begin
  if not exists (select from holdfast_migrations where name = ${literal(file.name)}) then
    execute ${dollars(`\n${file.sql.trimEnd()}\n`, 'migration')};
    ${noted(file, version)}
  end if;
end`)
}

function noted({ name, checksum, worksWith }: SqlFile, version: string): string {
  const values = [name, checksum, version].map(literal).join(', ')
  return (
    'insert into holdfast_migrations (name, checksum, version, works_with) ' +
    `values (${values}, ${worksWith === undefined ? 'null' : literal(worksWith)}) ` +
    'on conflict (name) do update set checksum = excluded.checksum, version = excluded.version, ' +
    'applied_at = excluded.applied_at;'
  )
}

function ended(sql: string): string {
  const text = sql.trimEnd()
  return text.endsWith(';') ? text : `${text};`
}

function block(code: string): string {
  return `do ${dollars(`${code}\n`, 'holdfast')};`
}

/** A dollar-quoted text, with a tag that does not occur in it. */
function dollars(text: string, name: string): string {
  let tag = `$${name}$`
  for (let n = 2; text.includes(tag); n++) tag = `$${name}${n}$`
  return `${tag}${text}${tag}`
}

function literal(text: string): string {
  // As an E string if it has backslashes: then standard_conforming_strings does not matter.
  const escaped = text.replaceAll("'", "''")
  return escaped.includes('\\') ? `E'${escaped.replaceAll('\\', '\\\\')}'` : `'${escaped}'`
}
