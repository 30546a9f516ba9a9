import type { TestProject } from 'vitest/node'

import { sweepTestSchemas } from '../../src/testing/postgres-schema.ts'
import { fastFolder, startPostgres } from './postgres-server.ts'

/** One PostgreSQL for all tests of a run: `HOLDFAST_TEST_PG_URL`, or one started here. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  const given = process.env['HOLDFAST_TEST_PG_URL']
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given)
    // Of runs that were killed.
    await sweepTestSchemas({ url: given })
    return
  }
  // As many as a server allows that nobody has set up: all tests together have to manage with them.
  const server = await startPostgres(['max_connections=100', 'max_wal_size=512MB'], fastFolder())
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}
