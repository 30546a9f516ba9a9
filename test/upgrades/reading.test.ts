import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { activity, compression, encryption, open, type Store, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { openDatabase } from '../../src/sqlite/index.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { INSTANCES } from '../../src/sqlite/migrations/0001_instances.ts'
import { APPLICATION_ID } from '../../src/sqlite/schema/migrate.ts'
import { checkAgainst } from '../../src/testing/index.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'

const nap = workflow('nap', async (_: undefined, ctx) => {
  await ctx.sleep('30d')
})

/** All that is in a folder, by content. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  )
}

async function nappingIn(url: string): Promise<void> {
  await using runtime = await open(url, { register: nap })
  await runtime.start(nap, undefined, { id: 'kim' })
  await runtime.idle()
}

test('a check changes nothing in a file', async () => {
  using file = tempFile()
  await nappingIn(`file:${file.path}`)
  const before = contents(file.folder)

  const { ok, checked } = await checkAgainst(`file:${file.path}`, { register: nap })

  expect({ ok, checked }).toEqual({ ok: true, checked: 1 })
  expect(contents(file.folder)).toMatchObject(before)
})

test('a file of an older schema is read as it is, and not migrated', async () => {
  using file = tempFile()
  const driver = openDriver(file.path, undefined)
  driver.exec(`
    ${INSTANCES}
    pragma application_id = ${APPLICATION_ID};
    pragma user_version = 1;
    insert into workflows (workflow, name, version) values (1, 'nap', '1.0.0');
    insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    values (1, 'kim', 1, 1, 'running', 5, 5);
    insert into runs (iid, workflow, owner, epoch, wake_at, attempts, held)
    values (1, 1, null, 1, 9, 0, 0);
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    values (1, 1, 1, 1, 5, 1, 2, 'nothing that can be read');
  `)
  driver.close()

  const { findings } = await checkAgainst(`file:${file.path}`, { register: nap })

  expect(findings).toMatchObject([
    { kind: 'unreadable', running: 1, message: expect.stringMatching('turn 1 of execution 1') },
  ])
  const after = openDriver(file.path, undefined, 'read-only')
  expect(after.prepare('pragma user_version').get()).toMatchObject({ user_version: 1 })
  after.close()
})

test('a check reads a file while a runtime is at work on it', async () => {
  using file = tempFile()
  await using runtime = await open(`file:${file.path}`, { register: nap })
  await runtime.start(nap, undefined, { id: 'kim' })
  await runtime.idle()

  const { ok, checked } = await checkAgainst(`file:${file.path}`, { register: nap })
  await runtime.get('kim').terminate()

  expect({ ok, checked }).toEqual({ ok: true, checked: 1 })
  expect((await runtime.get('kim').info())!.status).toBe('terminated')
})

test('a file of another application is refused', async () => {
  using file = tempFile()
  const own = openDriver(file.path, undefined)
  own.exec('create table notes (note text)')
  own.close()

  await expect(checkAgainst(`file:${file.path}`, { register: nap })).rejects.toThrow(
    /is a database of another application/,
  )
  expect(() => openDatabase({ path: file.path })).toThrow(/another application/)
})

test('a check needs a connection that can only read', async () => {
  await using database = await testSchema()
  const { url, schema } = database
  {
    await using runtime = await open(postgres({ url, schema }), { register: nap })
    await runtime.start(nap, undefined, { id: 'kim' })
    await runtime.idle()
  }
  const readOnly = new URL(url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')

  const store = postgres({ url: readOnly.href, schema })
  const { ok, checked } = await checkAgainst(store, { register: nap })

  expect({ ok, checked }).toEqual({ ok: true, checked: 1 })
  await expect(open(store, { register: nap })).rejects.toThrow(/read-only/)
})

const note = activity('note', async (text: string) => text)
const visit = workflow('visit', async (patient: string, ctx) => {
  await ctx.run(note, `${patient} came in`)
  await ctx.sleep('30d')
})
const visitAnother = workflow('visit', async (patient: string, ctx) => {
  await ctx.run(note, `${patient} left`)
  await ctx.sleep('30d')
})
const key = (id: string): { id: string; key: string } => ({
  id,
  key: Buffer.alloc(32, id).toString('base64'),
})
const OLD = [compression(), encryption({ keys: [key('2025')] })]
const NEW = [compression(), encryption({ keys: [key('2026'), key('2025')] })]

async function checkEncrypted(store: string | Store) {
  {
    await using runtime = await open(store, { register: visit, codec: OLD })
    // Long enough to be compressed.
    await runtime.start(visit, 'Ada Lovelace'.repeat(500), { id: 'ada' })
    await runtime.idle()
  }
  return {
    same: await checkAgainst(store, { register: visit, codec: NEW }),
    changed: await checkAgainst(store, { register: visitAnother, codec: NEW }),
    keyless: await checkAgainst(store, { register: visit }),
  }
}

const ENCRYPTED = {
  same: { ok: true, checked: 1 },
  changed: { ok: false, findings: [{ running: 1, examples: ['ada'] }] },
  keyless: {
    findings: [{ kind: 'unreadable', message: expect.stringMatching('pass the same codec') }],
  },
}

describe('a store that is compressed and encrypted', () => {
  test('is checked with its keys, on a file', async () => {
    using file = tempFile()

    expect(await checkEncrypted(`file:${file.path}`)).toMatchObject(ENCRYPTED)
  })

  test('is checked with its keys, on PostgreSQL', async () => {
    await using database = await testSchema()
    const { url, schema } = database

    expect(await checkEncrypted(postgres({ url, schema }))).toMatchObject(ENCRYPTED)
  })
})

test('a schema that is missing is not created', async () => {
  await using database = await testSchema()
  const store = postgres({ url: database.url, schema: 'nowhere to be found' })

  await expect(checkAgainst(store, { register: nap })).rejects.toThrow(
    /relation "nowhere to be found.workflows" does not exist/,
  )
})
