import { expect, test } from 'vitest'

import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { type Place, planOfList, runMillion } from './million.ts'

const COUNT = 20_000

test.each(['sqlite', 'postgres'] as const)(
  'many ended instances are listed, counted, pruned and deleted while workflows run: %s',
  { timeout: 120_000 },
  async (kind) => {
    await using database = await testSchema()
    using file = tempFile()
    const { url, schema } = database
    const place: Place = kind === 'sqlite' ? { kind, path: file.path } : { kind, url, schema }

    const { calls, latencies } = await runMillion(place, COUNT, 1)

    const answers = Object.fromEntries(calls.map(({ call, answer }) => [call, answer]))
    const withLabel = COUNT / 1_000
    expect(answers).toMatchObject({
      'list()': 100,
      'list, the 10 pages that follow': 1_000,
      "list { workflow: 'rare' }, 1 in 1000": COUNT / 1_000,
      "list { status: 'failed' }, 1 in 100": 100,
      'list { labels }, 1 in 1000': withLabel,
      'count()': COUNT,
      "count { status: 'failed' }": COUNT / 100,
      "count { workflow: 'rare' }": COUNT / 1_000,
      'prune()': (2 * COUNT) / 100,
      'delete { labels }': withLabel,
    })
    expect(answers['dashboard, bytes of a page of instances']).toBeGreaterThan(10_000)
    for (const { count } of Object.values(latencies)) expect(count).toBeGreaterThan(0)
    expect(await planOfList(place)).toMatch(
      kind === 'sqlite'
        ? /USING COVERING INDEX instances_by_workflow/
        : /Index Only Scan Backward using instances_by_workflow/,
    )
  },
)
