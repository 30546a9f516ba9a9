import { expect, test } from 'vitest'

import { silentLog } from '../../src/base/log.ts'
import { open, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'

// How many connections a process has. None of ours is closed while it is open, so that those that
// are there at the end are the most there were.

const echo = workflow('echo', async (text: string, ctx) => ctx.step('echo', () => text))

// Commits have one to themselves, everything else shares four, one listens, one renews the lease.
const MOST = 1 + 4 + 1 + 1

test('a runtime has seven connections at most, however much it does', async () => {
  await using database = await testSchema('budget')
  const { schema } = database
  // The server shows it for each connection, so that they can be distinguished from those of other
  // tests.
  const url = new URL(database.url)
  url.searchParams.set('application_name', schema)
  const store = postgres({ url: url.href, schema })
  await using runtime = await open(store, { register: echo, log: silentLog })
  await eventually(() => runtime.health().hints.state === 'listening')

  await Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const instance = await runtime.start(echo, `${i}`)
      await Promise.all([instance.result(), instance.info(), runtime.get(`none-${i}`).info()])
    }),
  )

  const [row] = await database.query<{ own: number }>(
    'select count(*)::int as own from pg_stat_activity where application_name = $1',
    [schema],
  )
  expect(row!.own).toBeGreaterThan(2)
  expect(row!.own).toBeLessThanOrEqual(MOST)
})
