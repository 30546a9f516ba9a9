import type { Client } from 'pg'

/** A table as it is now. */
export interface Table {
  readonly name: string
  readonly bytes: number
  readonly live: number
  readonly dead: number
}

const TABLES = `
select
  relname as name,
  pg_total_relation_size(relid)::float8 as bytes,
  n_live_tup::float8 as live,
  n_dead_tup::float8 as dead
from pg_stat_user_tables
where schemaname = $1
  and pg_total_relation_size(relid) > 65536
order by relname`

/** The tables of a schema that are more than a few pages large. */
export async function tablesOf(client: Client, schema: string): Promise<readonly Table[]> {
  return (await client.query<Table>(TABLES, [schema])).rows
}
