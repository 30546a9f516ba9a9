import type { TestSchema } from './postgres.ts'

const TABLES = `
select
  c.relname as table,
  array_to_string(c.reloptions, ', ') as options,
  string_agg(
    format(
      '  %s %s%s%s%s',
      a.attname,
      format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then ' collate "C"' else '' end,
      case when a.attnotnull then ' not null' else '' end,
      case
        when a.attidentity = 'a' then ' generated always as identity'
        when d.oid is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
        else ''
      end
    ),
    e',\\n' order by a.attnum
  ) as columns
from pg_class as c
join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type as t on t.oid = a.atttypid
left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = $1::regnamespace
  and c.relkind = 'r'
group by c.oid
order by c.relname`

const INDEXES = `
select tablename as table, replace(indexdef, schemaname || '.', '') as definition
from pg_indexes
where schemaname = $1
order by tablename, indexname`

const SEQUENCES = `
select sequencename as sequence, data_type::text as type, cache_size as cache
from pg_sequences
where schemaname = $1
order by sequencename`

const FUNCTIONS = `
select
  format(
    e'create function %s(%s)\\n  returns %s',
    proname,
    pg_get_function_arguments(oid),
    pg_get_function_result(oid)
  ) as definition
from pg_proc
where pronamespace = $1::regnamespace
order by proname`

/** Tables, indexes, sequences and signatures of a schema as SQL, the same on every server. */
export async function manifestOf(database: TestSchema): Promise<string> {
  const values = [database.schema]
  const tables = await database.query<{ table: string; options: string | null; columns: string }>(
    TABLES,
    values,
  )
  const indexes = await database.query<{ table: string; definition: string }>(INDEXES, values)
  const sequences = await database.query<{ sequence: string; type: string; cache: string }>(
    SEQUENCES,
    values,
  )
  const functions = await database.query<{ definition: string }>(FUNCTIONS, values)

  return [
    '-- Read from a database that the migrations were applied to; a test keeps it so. To renew it:\n' +
      '--   npx vitest run src/postgres/schema/manifest.test.ts -u',
    ...tables.map(({ table, options, columns }) =>
      [
        `create table ${table} (\n${columns}\n)${options === null ? '' : ` with (${options})`};`,
        ...indexes
          .filter((index) => index.table === table)
          .map(({ definition }) => `${lower(definition)};`),
      ].join('\n'),
    ),
    ...sequences.map(
      ({ sequence, type, cache }) => `create sequence ${sequence} as ${type} cache ${cache};`,
    ),
    ...functions.map(({ definition }) => `${definition};`),
    '',
  ].join('\n\n')
}

/** Key words in lower case, as in our own files. */
function lower(definition: string): string {
  return definition
    .replace(/\b(CREATE|UNIQUE|INDEX|ON|USING|WHERE|IS NOT NULL|NOT)\b/g, (word) =>
      word.toLowerCase(),
    )
    .replace(' using btree', '')
}
