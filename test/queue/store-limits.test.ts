// What is read at once, what finds room, and how long the WAL gets.

import { statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Database } from '../../src/sqlite/file/database.ts'
import { tempFile } from '../support/sqlite.ts'
import { groupOf, openUser } from './store-support.ts'
import { queueFileSettings } from './support.ts'

const MB = 1024 * 1024

describe('large messages', () => {
  test('are taken up to 8 MB at a time; the rest is untouched', async () => {
    const user = await openUser()
    for (let i = 0; i < 5; i++) await user.push(new Uint8Array(3 * MB).fill(i))

    const first = await user.take()
    expect(await user.counts()).toMatchObject({ ready: 3, inFlight: 2 })
    const second = await user.take()
    const third = await user.take()

    expect([first, second, third].map((taken) => taken.map(({ id }) => id))).toEqual([
      [0, 1],
      [2, 3],
      [4],
    ])
    expect([...second, ...third].map(({ attempt, receipt }) => [attempt, receipt])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ])
  })

  test('are taken one by one if each is larger', async () => {
    const user = await openUser()
    for (let i = 0; i < 2; i++) await user.push(new Uint8Array(9 * MB))

    const lengths = [await user.take(), await user.take(), await user.take()].map(
      ({ length }) => length,
    )

    expect(lengths).toEqual([1, 1, 0])
  })

  test('are read in pages of up to 8 MB', async () => {
    const user = await openUser()
    for (let i = 0; i < 5; i++) await user.push(new Uint8Array(3 * MB))
    const ids: number[][] = []

    for (let after = -1; ; after = ids.at(-1)!.at(-1)!) {
      const page = await user.store.page({ after, limit: 100, dead: false })
      if (page.length === 0) break
      ids.push(page.map(({ id }) => id))
    }

    expect(ids).toEqual([[0, 1], [2, 3], [4]])
  })
})

test('a page has a thousand records at most', async () => {
  const user = await openUser()
  await user.apply({ pushes: [groupOf(Array.from({ length: 1_500 }, () => 'x'))] })

  const page = await user.store.page({ after: -1, limit: 1_000_000, dead: false })

  expect(page).toHaveLength(1_000)
})

describe('a batch of pushes that finds no room for one of them', () => {
  const pushes = [groupOf(['a']), groupOf(['b', 'c', 'd']), groupOf(['e'])]

  test('stores what fits', async () => {
    const user = await openUser()

    const answer = await user.apply({ pushes, capacity: 3 })

    expect(answer.pushes.map(({ state }) => state)).toEqual(['stored', 'full', 'stored'])
  })

  test('stores nothing after it when the order is to be kept', async () => {
    const user = await openUser()

    const answer = await user.apply({ pushes, capacity: 3, inOrder: true })

    expect(answer.pushes.map(({ state }) => state)).toEqual(['stored', 'full', 'full'])
    expect(answer.queueState.counts.ready).toBe(1)
  })
})

test('the WAL stays short under large messages, even when the path is a link', async () => {
  using file = tempFile()
  const link = join(file.folder, 'link.db')
  symlinkSync(file.path, link)
  const database = new Database(queueFileSettings(link))
  const user = await openUser({ database })
  let longest = 0

  for (let i = 0; i < 20; i++) {
    await user.push(new Uint8Array(4 * MB))
    longest = Math.max(longest, statSync(`${file.path}-wal`).size)
    database.tidy()
  }
  database.close()

  expect(longest).toBeLessThan(48 * MB)
})
