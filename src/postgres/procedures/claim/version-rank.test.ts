import { expect, test } from 'vitest'

import { openStore } from '../../../../test/support/postgres-store.ts'
import { latestOf } from '../../../base/versions.ts'
import { quoted } from '../../connect/schema-name.ts'

const VERSIONS = [
  '0.0.1',
  '1.0.0',
  '1.9.0',
  '1.10.0',
  '2.0.0',
  '10.0.0',
  '12345678901234567890.0.0',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc-1.0',
  '1.0.0-1',
  '1.0.0-Z',
  '99.0.0-rc.1',
]

test('the server finds the same version to be the latest as the engine does', async () => {
  await using opened = await openStore()
  const pairs = VERSIONS.flatMap((a) => VERSIONS.map((b) => [a, b] as const))

  const rank = `${quoted(opened.database.schema)}.version_rank`
  const rows = await opened.database.query<{ later: boolean }>(
    `select ${rank}(a) collate "C" > ${rank}(b) collate "C" as later
     from unnest($1::text[], $2::text[]) as p (a, b)`,
    [pairs.map(([a]) => a), pairs.map(([, b]) => b)],
  )

  const wrong = pairs.filter(([a, b], i) => {
    const isLater = a !== b && latestOf([{ version: a }, { version: b }])!.version === a
    return rows[i]!.later !== isLater
  })
  expect(wrong).toEqual([])
})
