import { Pool, type PoolClient } from 'pg'
import { postgresUrl } from './postgres.ts'

/** A pool like that of `pg` before 8.12, which does not know `queryMode`: a text may be several statements. */
export function oldDriverPool(): Pool {
  const pool = new Pool({ connectionString: postgresUrl() })
  pool.on('error', () => {})
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient>
  return Object.assign(pool, {
    async connect() {
      const client = await connect()
      const query = client.query.bind(client) as (statement: unknown) => Promise<unknown>
      return Object.assign(Object.create(client) as PoolClient, {
        query: (statement: object) => query({ ...statement, queryMode: undefined }),
        release: client.release.bind(client),
      })
    },
  })
}
