// A process that is killed, and its successor, which encrypts with another key and compresses in another
// way: it reads what the first one wrote, replays it, and continues.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { open } from '../../src/index.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { testProgram } from '../support/test-program.ts'
import { letters, newKeys, type Place, placeOf } from './programs/letters.ts'

// The heartbeat may or may not have been stored before the kill.
const RESULT = /^a secret of old, signed, after (undefined|a secret of old, signed, on its way)$/

const PROGRAM = testProgram(join(import.meta.dirname, 'programs/encrypted.ts'))

/** Kills a process in this place, takes over from it, and returns the result. */
async function takeOver(place: Place): Promise<string> {
  const args = ['--disable-warning=ExperimentalWarning']
  const child = spawn(process.execPath, [...args, PROGRAM, JSON.stringify(place)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    // It is inside its activity, and its first heartbeat is stored within about a second.
    await once(child.stdout, 'data')
  } finally {
    child.kill('SIGKILL')
  }
  await once(child, 'exit')
  const { write, register } = letters(async (text) => text)

  await using runtime = await open(placeOf(place), {
    register,
    codec: newKeys,
    lease: '1s',
    log: silentLog,
  })
  return await runtime.get(write, 'letter').result({ timeout: '40s' })
}

test(
  'on SQLite, a process with rotated keys takes over from one that was killed',
  { timeout: 60_000 },
  async () => {
    using file = tempFile()

    expect(await takeOver({ path: file.path })).toMatch(RESULT)
  },
)

test(
  'on PostgreSQL, a process with rotated keys takes over from one that was killed',
  { timeout: 60_000 },
  async () => {
    await using database = await testSchema('keys')

    const { url, schema } = database

    expect(await takeOver({ url, schema })).toMatch(RESULT)
  },
)
