import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

import { silentLog } from '../../src/base/log.ts'
import { open, type Store } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { testProgram } from '../support/test-program.ts'
import { reader } from './reader.ts'

const CHILD = testProgram(join(import.meta.dirname, 'sender-child.ts'))
// Each message would wait for a tick of its own, up to ten seconds.
const MESSAGES = 3
const SOON_MS = 5_000

/** How long messages take from a process that runs nothing, one after the other, and back. */
async function roundTripsMs(store: Store, place: object): Promise<number> {
  await using runtime = await open(store, { register: reader, log: silentLog })
  await eventually(() => runtime.health().hints.state === 'listening')
  const ids: string[] = []
  for (let i = 0; i < MESSAGES; i++) ids.push((await runtime.start(reader)).id)
  const args = [CHILD, JSON.stringify(place), ...ids]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return Number(stdout)
}

test('two processes on one file notify each other', async () => {
  using file = tempFile()
  const place = { path: file.path, durability: 'os' } as const

  expect(await roundTripsMs(sqlite(place), place)).toBeLessThan(SOON_MS)
})

test('two processes on one server notify each other', async () => {
  await using database = await testSchema('processes')
  const { url, schema } = database
  const place = { url, schema }

  expect(await roundTripsMs(postgres(place), place)).toBeLessThan(SOON_MS)
})
