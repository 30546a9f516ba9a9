import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempFile } from '../../../test/support/sqlite.ts'
import { claimLibrary } from './library-of-file.ts'

function known(): Map<string, string> {
  const shared = globalThis as unknown as Record<symbol, Map<string, string>>
  return shared[Symbol.for('holdfast.sqlite.libraries')]!
}

test('files that have been removed are forgotten, others are not', () => {
  using file = tempFile()
  writeFileSync(file.path, '')
  const driver = undefined
  claimLibrary({ path: file.path, driver })
  const [place] = [...known().keys()].slice(-1)

  for (let i = 0; i < 5_000; i++) claimLibrary({ path: join(file.folder, `${i}.db`), driver })

  expect(known().size).toBeLessThan(3_000)
  expect(known().has(place!)).toBe(true)
})
