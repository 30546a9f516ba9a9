import { option, resolveOptions } from '../../base/options.ts'
import { NOTES } from './migrate.ts'
import { settingsSql } from './procedure-settings.ts'
import { checkSchemaName, quoted } from '../connect/schema-name.ts'
import { retireSql } from './retired-procedures.ts'
import { FILES, type SchemaFiles } from './schema-state.ts'
import type { SqlFile } from './sql-file.ts'
import { functionsOf, indexesOf, schemaConflictsSql, tablesOf } from './schema-conflicts.ts'

/**
 * The SQL that creates a schema, or brings it up to date, for those who let nobody but themselves
 * change tables. It is one transaction, can be run again, and refuses a schema of a newer version,
 * and one in which somebody else has tables or functions of the same names.
 *
 * After it a process can open the store with a role that may not create anything.
 */
export function migrationSql(options?: {
  /** The schema that holds the tables. @default 'holdfast' */
  readonly schema?: string
}): string {
  const { schema } = resolveOptions('migrationSql', options, {
    schema: option(checkSchemaName, 'holdfast'),
  })
  return sqlFor(schema, FILES)
}

/** The same, for files that tests give. */
export function sqlFor(
  schema: string,
  { migrations, procedures, retired = [], version }: SchemaFiles,
): string {
  return [
    `-- Holdfast ${version}: brings the schema ${quoted(schema)} up to date.`,
    'begin;',
    // What is there already, and what was never there to be dropped, is no news. It ends with the transaction.
    'set local client_min_messages to warning;',
    `select pg_advisory_xact_lock(hashtext('holdfast migrate'), hashtext(${literal(schema)}));`,
    `create schema if not exists ${quoted(schema)};`,
    `set local search_path to ${quoted(schema)}, pg_temp;`,
    NOTES,
    refusal(migrations, version),
    conflictRefusal(schema, [...migrations, ...procedures]),
    ...migrations.map((file) => once(file, version)),
    ...procedures.flatMap((file) => [ended(file.sql), noted(file, version)]),
    settingsSql(procedures),
    retireSql(retired),
    'commit;',
    '',
  ].join('\n\n')
}

/**
 * Stops when a migration was applied that is not among these, and when a newer version has written
 * procedures: those of an older one never take their place.
 */
function refusal(migrations: readonly SqlFile[], version: string): string {
  const known = migrations.map(({ name }) => literal(name)).join(', ')
  return block(`
declare
  v_unknown text := (
    select string_agg(name, ', ' order by name)
    from holdfast_migrations
    where name like 'migrations/%'
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
    raise exception 'this schema was brought up to date by a newer version of Holdfast: %', v_unknown;
  end if;
  if v_newer is not null then
    raise exception 'this schema was brought up to date by version % of Holdfast, this is %',
      v_newer, ${literal(version)};
  end if;
end`)
}

/** Stops when the schema is new to us, and holds what is somebody else's under names of ours. */
function conflictRefusal(schema: string, files: readonly SqlFile[]): string {
  const list = (names: readonly string[]): string =>
    `array[${names.map((name) => literal(name)).join(', ')}]::text[]`
  return block(`
declare
  v_strangers text := (
    ${schemaConflictsSql(literal(schema), list([...tablesOf(files), ...indexesOf(files)]), list(functionsOf(files)))}
  );
begin
  if v_strangers is not null and not exists (select from holdfast_migrations) then
    raise exception 'this schema holds what is not Holdfast''s under names that Holdfast needs: %; '
      'use another one', v_strangers;
  end if;
end`)
}

/** What versions are ordered by, in SQL; pre-releases of one version are all the same here. */
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

/** A text between dollars, with a tag that it does not hold. */
function dollars(text: string, name: string): string {
  let tag = `$${name}$`
  for (let n = 2; text.includes(tag); n++) tag = `$${name}${n}$`
  return `${tag}${text}${tag}`
}

function literal(text: string): string {
  // With backslashes only where the server's setting cannot change what they mean.
  const escaped = text.replaceAll("'", "''")
  return escaped.includes('\\') ? `E'${escaped.replaceAll('\\', '\\\\')}'` : `'${escaped}'`
}
