// Somebody else's tables and functions in a schema, under names that ours are to have.
//
// A schema that is shared with others' tables is none of our affair, until a name meets another.
// Then nothing may be written: `create table` would fail half-way with words that help nobody, and
// `create or replace function` and `drop function if exists` would not even fail.

import { StoreError } from '../../store/store-error.ts'
import type { Session } from '../connect/connections.ts'
import type { SqlFile } from './sql-file.ts'

/** The error for a schema in which others have names that these files need; `undefined` when none is. */
export async function schemaConflictError(
  session: Session,
  schema: string,
  missing: readonly SqlFile[],
  isNew: boolean,
): Promise<StoreError | undefined> {
  const { rows } = await session.query({
    text: schemaConflictsSql('$1', '$2::text[]', '$3::text[]'),
    // What has been here before knows which functions and indexes are its own, and may replace them.
    values: [
      schema,
      [...tablesOf(missing), ...(isNew ? indexesOf(missing) : [])],
      isNew ? functionsOf(missing) : [],
    ],
  })
  const { found } = rows[0] as { found: string | null }
  if (found === null) return undefined
  return new StoreError(
    'misconfigured',
    'migrate',
    `schema "${schema}" holds what is not Holdfast's under names that Holdfast needs: ${found}; ` +
      `nothing was changed; give another schema, as in postgres({ schema: 'holdfast' })`,
  )
}

/** What is in the way, as one text; null when nothing is. Its arguments are expressions of SQL. */
export function schemaConflictsSql(schema: string, tables: string, functions: string): string {
  return `select string_agg(what, ', ' order by what) as found
from (
  select case c.relkind
      when 'r' then 'table'
      when 'p' then 'table'
      when 'v' then 'view'
      when 'm' then 'materialized view'
      when 'f' then 'foreign table'
      when 'S' then 'sequence'
      when 'i' then 'index'
      else 'relation'
    end || ' "' || c.relname || '"' as what
  from pg_class c
  where c.relnamespace = (select oid from pg_namespace where nspname = ${schema})
    and c.relname = any (${tables})
  union
  -- Every table has a type of its name.
  select 'type "' || t.typname || '"'
  from pg_type t
  where t.typnamespace = (select oid from pg_namespace where nspname = ${schema})
    and t.typname = any (${tables})
    and t.typrelid = 0
  union
  select 'function "' || p.proname || '"'
  from pg_proc p
  where p.pronamespace = (select oid from pg_namespace where nspname = ${schema})
    and p.proname = any (${functions})
) strangers`
}

/** The tables and sequences that migrations create. */
export function tablesOf(files: readonly SqlFile[]): readonly string[] {
  return namesIn(files, /^create (?:table|sequence) (\w+)/gm)
}

/** The indexes that migrations create, also in place of earlier ones. */
export function indexesOf(files: readonly SqlFile[]): readonly string[] {
  return namesIn(files, /^create (?:unique )?index (\w+)/gm)
}

function namesIn(files: readonly SqlFile[], pattern: RegExp): readonly string[] {
  return files.flatMap(({ sql }) => Array.from(sql.matchAll(pattern), ([, name]) => name!))
}

/** The functions that files of procedures create: each is called as its file. */
export function functionsOf(files: readonly SqlFile[]): readonly string[] {
  return files.flatMap(({ name }) => /^procedures\/(\w+)$/.exec(name)?.[1] ?? [])
}
