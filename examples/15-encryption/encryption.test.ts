import { describe, expect, test } from 'vitest'
import { KILLED, LIMIT_MS, runExample, sqliteFile } from '../../test/support/example.ts'

const LINES = [
  'stored with key 2025; the name can be read: false',
  'Ada Lovelace: all is well (3 words)',
  'stored with key 2026; the finding can be read: false',
  'codec: cannot read a stored value: it was written with a codec (aes), and this process has none; pass the same codec to open() or connect()',
]

describe.concurrent('the example of encryption', { timeout: LIMIT_MS }, () => {
  test('it reads what it wrote with two keys, and a process without them cannot', async () => {
    using store = sqliteFile()

    const { lines, errors, ...end } = await runExample('15-encryption', store.url)

    expect({ ...end, lines, errors }).toEqual({ code: 0, signal: null, lines: LINES, errors: '' })
  })

  test('killed while the key is rotated, it continues with the new key', async () => {
    using store = sqliteFile()

    const killed = await runExample('15-encryption', store.url, { dieOn: 'stored with key 2025' })
    const again = await runExample('15-encryption', store.url)

    expect({ ...killed, errors: '' }).toMatchObject(KILLED)
    expect(again.lines).toEqual(LINES)
  })
})
