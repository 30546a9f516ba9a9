import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { manifestOf } from '../../../test/support/postgres-manifest.ts'
import { openStore } from '../../../test/support/postgres-store.ts'

const ROOT = join(import.meta.dirname, '../../..')

test('docs/reference/schema.sql shows what the migrations make', async () => {
  await using opened = await openStore()

  const manifest = await manifestOf(opened.database)

  await expect(manifest.trimEnd() + '\n').toMatchFileSnapshot(
    join(ROOT, 'docs/reference/schema.sql'),
  )
})

test('the embedded SQL is what the files hold', () => {
  const script = join(ROOT, 'scripts/embed-sql.mjs')
  const { stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })

  expect(stderr).toBe('')
})
