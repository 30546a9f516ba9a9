// Objects of other applications in the schema that have names Holdfast needs.
//
// A schema may be shared with other tables as long as no names collide. If some do, nothing is
// changed: `create table` would fail half-way with an error that does not help, and `create or replace
// function` and `drop function if exists` would not even fail.

import { StoreError } from '../../store/store-error.ts'
import type { Session } from '../connect/connections.ts'
import type { SqlFile } from './sql-file.ts'

/** The error for a schema that contains objects with names these files need; `undefined` for none. */
export async function schemaConflictError(
  session: Session,
  schema: string,
  missing: readonly SqlFile[],
  isNew: boolean,
  family = '',
): Promise<StoreError | undefined> {
  const { rows } = await session.query({
    text: schemaConflictsSql('$1', '$2::text[]', '$3::text[]'),
    // A schema that Holdfast created before has only our own functions and indexes under these names.
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
    `schema "${schema}" already contains objects with names that Holdfast needs: ${found}; ` +
      `nothing was changed; ${remedyFor(family)}`,
  )
}

function remedyFor(family: string): string {
  return family === ''
    ? `use another schema, as in postgres({ schema: 'holdfast' })`
    : `use another prefix, as in outbox(client, { prefix: 'events' }), or another schema`
}

/** A query for the conflicts as one text, null for none. The arguments are SQL expressions. */
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
) conflicts`
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

/** The functions that files of procedures create: each has the name of its file. */
export function functionsOf(files: readonly SqlFile[]): readonly string[] {
  return files.flatMap(({ name }) => /^procedures\/(\w+)$/.exec(name)?.[1] ?? [])
}
