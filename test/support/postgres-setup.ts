import type { TestProject } from 'vitest/node'

import { startPostgres } from './postgres-server.ts'

/** One PostgreSQL for all tests of a run: `HOLDFAST_TEST_PG_URL`, or one started here. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  const given = process.env['HOLDFAST_TEST_PG_URL']
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given)
    return
  }
  const server = await startPostgres()
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}
