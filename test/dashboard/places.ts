// A shop on each store, for tests of the built dashboard.

import { rmSync } from 'node:fs'
import { Client } from 'pg'
import { postgres } from 'holdfast/postgres'

import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { type Place, sqlitePlace } from './seed.ts'

export const STORES = ['sqlite', 'postgres'] as const

/** A place of its own, on a store of this kind. */
export async function openPlace(kind: (typeof STORES)[number]): Promise<Place & AsyncDisposable> {
  if (kind === 'sqlite') {
    const { folder, path } = tempFile()
    return {
      ...sqlitePlace(path),
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }
  const space = await testSchema('dashboard')
  return {
    store: postgres({ url: space.url, schema: space.schema }),
    async transaction(run) {
      const client = new Client({ connectionString: space.url })
      await client.connect()
      try {
        await client.query('begin')
        await run(client)
        await client.query('commit')
      } finally {
        await client.end()
      }
    },
    [Symbol.asyncDispose]: () => space[Symbol.asyncDispose](),
  }
}
