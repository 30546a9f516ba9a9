import { startPostgres } from '../support/postgres-server.ts'
import { tempFile } from '../support/sqlite.ts'
import type { Place } from './million.ts'

/** Runs something with an empty SQLite file, or a schema of a PostgreSQL server of its own. */
export async function atPlace(store: string, run: (place: Place) => Promise<void>): Promise<void> {
  if (store === 'sqlite') {
    using file = tempFile()
    return await run({ kind: 'sqlite', path: file.path })
  }
  const server = await startPostgres()
  try {
    await run({ kind: 'postgres', url: server.url, schema: 'holdfast' })
  } finally {
    await server.remove()
  }
}
