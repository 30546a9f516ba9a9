// Records that are not what was pushed, and counts that are not what is there.

import { describe, expect, test } from 'vitest'
import { DAMAGED } from '../../src/store/queue-store.ts'
import { dataOf, groupOf, openUser } from './store-support.ts'

const LONG_TEXT = 'x'.repeat(5_000)
const LONG_BYTES = new Uint8Array(5_000).fill(7)

describe.each([
  ['bytes kept apart are gone', 'delete from large_data where id = 0', 'its data is missing'],
  ['text kept apart is gone', 'delete from large_data where id = 1', 'its data is missing'],
  ['bytes are null', 'update messages set data = null where id = 2', 'its data is missing'],
  [
    'bytes have become text',
    `update messages set data = 'text' where id = 2`,
    'its data is text where bytes were stored',
  ],
  [
    'text has become a number',
    'update messages set data = 5 where id = 3',
    'its data is neither text nor bytes but a number',
  ],
  [
    'one bit of bytes has changed',
    `update messages set data = x'0707070706' where id = 2`,
    'its data does not match its checksum',
  ],
  [
    'one bit of text has changed',
    `update messages set data = 'shost' where id = 3`,
    'its data does not match its checksum',
  ],
  [
    'one bit of text kept apart has changed',
    `update large_data set data = 'y' || substr(data, 2) where id = 1`,
    'its data does not match its checksum',
  ],
  [
    'the format has changed',
    'update messages set format = 1 where id = 3',
    'its data does not match its checksum',
  ],
  [
    'it is that of another message',
    `update messages set (data, checksum) = (select data, checksum from messages where id = 4)
     where id = 3`,
    'its data does not match its checksum',
  ],
])('a record is damaged: %s', (_, sql, how) => {
  test('it is reported wherever it is read, and the others are readable', async () => {
    const user = await openUser()
    const pushed = [LONG_BYTES, LONG_TEXT, new Uint8Array(5).fill(7), 'short', 'other']
    await user.apply({ pushes: [groupOf(pushed)] })

    user.database.sql(sql).run()
    const id = Number(/id = (\d)$/.exec(sql)![1])

    const page = await user.store.page({ after: -1, limit: 10, dead: false })
    const expected = pushed.map((data, i) =>
      i === id
        ? { id: i, format: DAMAGED, data: how }
        : { id: i, format: typeof data === 'string' ? 0 : -1, data },
    )
    expect(page.map((record) => ({ ...record, data: plain(record.data) }))).toMatchObject(expected)
    expect(await user.store.find(id)).toMatchObject({ format: DAMAGED, data: how })
    const taken = await user.take()
    expect(taken.map((record) => ({ ...record, data: plain(record.data) }))).toMatchObject(expected)
  })
})

// Buffers are compared as what they are.
function plain(data: string | Uint8Array): string | Uint8Array {
  return typeof data === 'string' ? data : new Uint8Array(data)
}

test('an empty string and empty bytes are valid', async () => {
  const user = await openUser()
  await user.apply({ pushes: [groupOf(['', new Uint8Array(0)])] })

  const taken = await user.take()

  expect(taken.map(({ format, data }) => [format, data.length])).toEqual([
    [0, 0],
    [-1, 0],
  ])
})

// Whether there is memory behind nothing once made a difference, so files may hold either.
test.each([0, 41])('empty data is valid, whatever its checksum says (%d)', async (checksum) => {
  const user = await openUser()
  await user.apply({ pushes: [groupOf(['', new Uint8Array(0)])] })
  user.database.sql('update messages set checksum = ?').run(checksum)

  expect((await user.take()).map(({ format }) => format)).toEqual([0, -1])
})

describe('rows that were removed by hand', () => {
  test('are no longer counted once they were looked for', async () => {
    const user = await openUser()
    await user.apply({ pushes: [groupOf(['a', 'b', 'c', 'd'])] })
    await user.take(1)
    await user.push('later', { delayMs: 60_000 })
    user.database.sql('delete from messages where id in (1, 2)').run()
    expect(await user.counts()).toMatchObject({ ready: 3 })

    expect(dataOf(await user.take())).toEqual(['d'])

    expect(await user.counts()).toEqual({ ready: 0, inFlight: 2, delayed: 1, dead: 0 })
  })
})
