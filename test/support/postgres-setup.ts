import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'

import { dropSchema, sweepTestSchemas } from '../../src/testing/postgres-schema.ts'
import { fastFolder, startPostgres } from './postgres-server.ts'

/** One PostgreSQL for all tests of a run: `HOLDFAST_TEST_PG_URL`, or one started here. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-schemas-'))
  const kept = join(folder, 'names')
  writeFileSync(kept, '')
  project.provide('keptSchemas', kept)
  const remove = await provideServer(project, () => readFileSync(kept, 'utf8'))
  return async () => {
    await remove()
    rmSync(folder, { recursive: true })
  }
}

async function provideServer(
  project: TestProject,
  kept: () => string,
): Promise<() => Promise<void>> {
  const given = process.env['HOLDFAST_TEST_PG_URL']
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given)
    // Of runs that were killed.
    await sweepTestSchemas({ url: given })
    return () => dropSchemas(given, kept().split('\n').slice(0, -1))
  }
  // Three files at a time, some with several runtimes, need more connections than a server has by default.
  const server = await startPostgres(['max_connections=300', 'max_wal_size=512MB'], fastFolder())
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}

async function dropSchemas(url: string, names: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const name of names) await dropSchema(client, name)
  } finally {
    await client.end()
  }
}
