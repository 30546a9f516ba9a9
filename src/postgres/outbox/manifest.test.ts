import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manifestOf } from '../../../test/support/postgres-manifest.ts'
import { openStore } from '../../../test/support/postgres-store.ts'

const PAGE = join(import.meta.dirname, '../../../docs/reference/outbox-schema.sql')
const HEADER =
  '-- The tables and functions of an outbox with the usual prefix. To renew it:\n' +
  '--   npx vitest run src/postgres/outbox/manifest.test.ts -u'

test('docs/reference/outbox-schema.sql shows what the migrations of an outbox make', async () => {
  await using opened = await openStore()
  await opened.store.outbox!('outbox').open()

  const parts = (await manifestOf(opened.database)).trimEnd().split('\n\n')
  const ours = parts.filter((part) => /^create \w+ outbox_/.test(part))

  await expect(`${[HEADER, ...ours].join('\n\n')}\n`).toMatchFileSnapshot(PAGE)
})
