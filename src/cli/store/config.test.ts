import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig } from './config.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function manifest(holdfast: unknown): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'shop', holdfast }))
}

test('the nearest package.json counts, and paths are relative to it', () => {
  manifest({ store: 'file:data/shop.db', codec: './codec.ts', modules: ['src/a.ts', 'src/b.ts'] })
  const below = join(folder, 'src', 'deep')
  mkdirSync(below, { recursive: true })

  expect(readConfig(below)).toEqual({
    store: `file:${join(folder, 'data/shop.db')}`,
    schema: undefined,
    codec: join(folder, 'codec.ts'),
    modules: [join(folder, 'src/a.ts'), join(folder, 'src/b.ts')],
  })
})

test('other addresses, and a manifest without a section, are left as they are', () => {
  manifest({ store: 'postgres://localhost/shop', schema: 'billing', modules: 'src/a.ts' })
  expect(readConfig(folder)).toMatchObject({
    store: 'postgres://localhost/shop',
    schema: 'billing',
  })

  manifest(undefined)
  expect(readConfig(folder)).toEqual({
    store: undefined,
    schema: undefined,
    codec: undefined,
    modules: [],
  })
})

test.each([
  [{ stor: 'file:a.db' }, 'unknown option "stor", did you mean "store"?'],
  [{ store: 7 }, 'store must be a non-empty string, got 7'],
  [{ modules: [1] }, 'modules[0] must be a non-empty string, got 1'],
])('%j is refused', (holdfast, message) => {
  manifest(holdfast)

  expect(() => readConfig(folder)).toThrow(message)
})
