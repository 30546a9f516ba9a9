// A transaction of the user that has locked an SQLite file: whatever writes waits for it, and nothing
// else does.

import { expect, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'
import { openDatabase } from '../../src/sqlite/index.ts'
import { tempFile } from '../support/sqlite.ts'

const greet = workflow('greet', async (name: string) => `hello ${name}`)

test('while the file is locked, writes wait and reads continue', async () => {
  using file = tempFile()
  await using runtime = await open(`file:${file.path}`, { register: greet })
  await runtime.run(greet, 'Kim', { id: 'first' })
  const handle = openDatabase({ path: file.path })

  handle.exec('begin immediate')
  let isStarted = false
  const second = runtime.run(greet, 'Ada', { id: 'second' }).then((greeting) => {
    isStarted = true
    return greeting
  })
  // Longer than a thread that blocks for the lock would let them be.
  for (const until = performance.now() + 200; performance.now() < until;) {
    const begun = performance.now()
    expect(await runtime.get('first').info()).toMatchObject({ status: 'completed' })
    expect(performance.now() - begun).toBeLessThan(2_000)
  }
  expect(isStarted).toBe(false)
  handle.exec('commit')

  expect(await second).toBe('hello Ada')
  handle.close()
})
