import type { TestSchema } from '../support/postgres.ts'

/** A moment of a schema that it can be rolled back to. */
export interface Moment {
  /** Loses all that was written since, as a standby does that took over before it got everything. */
  loseTail(): Promise<void>
}

/** Keeps what a schema holds now. The runtimes on it notice nothing when it is rolled back. */
export async function keepMoment(database: TestSchema): Promise<Moment> {
  const { schema } = database
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables
    where schemaname = $1 and tablename not like 'kept\\_%' and tablename <> 'holdfast_migrations'`,
    [schema],
  )
  for (const { name } of tables) await database.query(`create table kept_${name} as table ${name}`)
  const sequences = await database.query<{ name: string; last: string | null }>(
    `select sequencename as name, last_value as last from pg_sequences where schemaname = $1`,
    [schema],
  )
  return {
    async loseTail() {
      const connection = await database.connect()
      await connection.query('begin')
      await connection.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
      for (const { name } of tables) {
        await connection.query(`insert into ${name} overriding system value table kept_${name}`)
      }
      for (const { name, last } of sequences) {
        await connection.query('select setval($1, $2, $3)', [name, last ?? 1, last !== null])
      }
      await connection.query('commit')
    },
  }
}
