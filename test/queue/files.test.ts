// What is in the file, which others have it open, and what can be wrong with it.

import { copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { openQueue } from '../../src/queue/index.ts'
import { Database } from '../../src/sqlite/file/database.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { settingsFor, tempFile } from '../support/sqlite.ts'
import { queueFile, queueFileSettings, queueInTime, takeAll } from './support.ts'

describe('ids', () => {
  test('are never used again, even when everything is acknowledged and the queue reopened', async () => {
    await using file = queueFile()
    let queue = await file.open<string>()
    expect(await queue.pushMany(['a', 'b'])).toEqual([0, 1])
    await queue.ack(await queue.takeMany(2))

    queue = await file.reopen(queue, { lazy: true })
    expect(await queue.push('c')).toBe(2)
    await queue.remove([2])
    queue = await file.reopen(queue)

    expect(await queue.push('d')).toBe(3)
  })
})

describe('several queues in one file', () => {
  test('know nothing of each other but the sequence of ids', async () => {
    await using file = queueFile()
    const mail = await file.open<string>({ name: 'mail' })
    const jobs = await file.open<string>({ name: 'jobs' })

    const id = await mail.push('letter', { dedupeKey: 'one' })
    await jobs.push('job', { dedupeKey: 'one' })

    expect([mail.counts.total, jobs.counts.total]).toEqual([1, 1])
    expect(await jobs.get(id)).toBeUndefined()
    expect(await jobs.remove([id])).toBe(0)
    expect(await takeAll(jobs)).toEqual(['job'])
    expect(await takeAll(mail)).toEqual(['letter'])
  })
})

describe('several users of one queue', () => {
  test('are woken by each other, and see what the others did', async () => {
    await using file = queueFile()
    const here = await file.open<string>()
    const there = await file.open<string>()
    const waiting = here.take({ timeout: '20s' })

    await there.push('from there')
    const delivery = await waiting

    expect(delivery?.data).toBe('from there')
    await delivery!.ack()
    await there.drain({ timeout: '20s' })
    expect(there.counts.total).toBe(0)
  })

  test('share the work: each message goes to one of them', async () => {
    await using file = queueFile()
    const users = await Promise.all([file.open<number>(), file.open<number>(), file.open<number>()])
    const items = Array.from({ length: 300 }, (_, i) => i)
    const handled: number[] = []
    for (const user of users) {
      user.handle(async ({ data }) => void handled.push(data), { concurrency: 4 })
    }

    await Promise.all(items.map((item) => users[item % 3]!.push(item)))
    await users[0].drain({ timeout: '20s' })

    expect(handled.toSorted((a, b) => a - b)).toEqual(items)
  })

  test('get at once what a user in a process that was killed had in flight', async () => {
    await using file = queueFile()
    const killed = await file.open<string>({ lease: '10m' })
    const here = await file.open<string>()
    await killed.push('work')
    await killed.take()
    const waiting = here.take({ timeout: '20s' })

    // A number that no process has, and no lock that says otherwise.
    rmSync(`${file.path}-user-1`)
    const driver = openDriver(file.path, undefined)
    driver.exec(
      `update sessions set process = replace(process, ' ${process.pid}', ' 4194305')
       where session = (select min(session) from sessions)`,
    )
    driver.close()

    expect(await waiting).toMatchObject({ data: 'work', attempt: 2 })
  })

  test('a push that waits for room gets it when another user makes it', async () => {
    await using file = queueFile()
    const here = await file.open<string>({ capacity: 1 })
    const there = await file.open<string>({ capacity: 1 })
    await here.push('first')

    const second = here.push('second')
    await (await there.take({ timeout: '20s' }))!.ack()

    expect(await second).toBe(1)
  })
})

describe('a file that is not for queues', () => {
  test.each([
    [
      'text',
      (path: string) => writeFileSync(path, 'Dear diary, '.repeat(100)),
      'not an SQLite database',
    ],
    [
      'a database of others',
      (path: string) => {
        const driver = openDriver(path, undefined)
        driver.exec('create table guests (name text)')
        driver.close()
      },
      'is a database of another application (application_id 0)',
    ],
    [
      'a store of workflows',
      (path: string) => new Database(settingsFor(path)).close(),
      'is a file of holdfast that holds workflows; each kind needs a file of its own',
    ],
  ])('is refused, and not touched: %s', async (_, prepare, complaint) => {
    await using file = queueFile()
    prepare(file.path)
    const before = readFileSync(file.path)

    await expect(file.open()).rejects.toMatchObject({
      name: 'StoreError',
      code: 'misconfigured',
      message: expect.stringContaining(complaint) as string,
    })
    expect(readFileSync(file.path).equals(before)).toBe(true)
  })

  test('is refused when it is of a later version', async () => {
    await using file = queueFile()
    await (await file.open()).close()
    const driver = openDriver(file.path, undefined)
    driver.exec('pragma user_version = 99')
    driver.close()

    await expect(file.open()).rejects.toMatchObject({ code: 'newer_schema' })
  })

  test('and a file of queues is no store of workflows', async () => {
    await using file = queueFile()
    await (await file.open()).close()

    expect(() => new Database(settingsFor(file.path))).toThrow(
      expect.objectContaining({
        code: 'misconfigured',
        message: expect.stringContaining('holds queues') as string,
      }),
    )
  })
})

/** A copy of a file as it is after a sudden end, with its WAL. */
function copyAsIs(from: string, to: string): void {
  for (const suffix of ['', '-wal']) copyFileSync(from + suffix, to + suffix)
}

describe('a damaged file', () => {
  test('with a torn last write has everything before it', async () => {
    await using file = queueFile()
    await using torn = queueFile()
    const queue = await file.open<string>()
    await queue.push('first')
    const wholeLength = statSync(`${file.path}-wal`).size
    await queue.push('second')
    copyAsIs(file.path, torn.path)
    truncateSync(`${torn.path}-wal`, wholeLength + 5_000)

    const found = await torn.open<string>()

    expect(await takeAll(found)).toEqual(['first'])
    expect(await found.push('third')).toBe(1)
  })

  test('is reported as such, not emptied', async () => {
    await using file = queueFile()
    const queue = await file.open<string>()
    await queue.pushMany(Array.from({ length: 500 }, (_, i) => `message ${i}`.repeat(20)))
    await queue.close()
    const bytes = readFileSync(file.path)
    bytes.fill(0xa5, 4_096 * 2, 4_096 * 30)
    writeFileSync(file.path, bytes)

    const opening = file.open<string>()

    await expect(opening).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
    expect(readFileSync(file.path).equals(bytes)).toBe(true)
  })
})

test('a full disk rejects pushes that do not fit, and nothing else', async () => {
  using file = tempFile()
  const database = new Database(queueFileSettings(file.path))
  await using under = await queueInTime<string>({ database, lazy: true })
  const { queue } = under
  await queue.push('small')
  const { page_count: pages } = database.sql('pragma page_count').get() as { page_count: number }
  database.sql(`pragma max_page_count = ${pages + 5}`).get()

  await expect(queue.push('x'.repeat(100_000))).rejects.toMatchObject({
    name: 'StoreError',
    code: 'unavailable',
    retryable: true,
  })
  const [small] = await queue.takeMany(10)
  await small!.ack()
  database.sql('pragma max_page_count = 100000').get()

  expect(await queue.push('x'.repeat(100_000))).toBe(1)
  expect(queue.counts).toMatchObject({ total: 1, ready: 1 })
})

test('a failing batch rejects all its calls, and the next one works', async () => {
  using file = tempFile()
  const database = new Database({ ...queueFileSettings(file.path), busyMs: 1 })
  await using under = await queueInTime<string>({ database, lazy: true })
  const { queue } = under
  await queue.push('before')
  const other = openDriver(file.path, undefined)
  other.exec('begin immediate')

  const asked = [queue.push('a'), queue.push('b'), queue.take(), queue.take({ timeout: '1m' })]
  const settled = await Promise.allSettled<unknown>(asked)
  other.exec('rollback')
  other.close()

  expect(settled).toMatchObject(asked.map(() => ({ reason: { name: 'StoreError', code: 'busy' } })))
  expect(await takeAll(queue)).toEqual(['before'])
})

test('a folder that does not exist is named', async () => {
  using file = tempFile()

  await expect(openQueue(`${file.folder}/none/queue.db`)).rejects.toMatchObject({
    code: 'misconfigured',
    message: `sqlite open: cannot open ${file.folder}/none/queue.db: there is no folder ${file.folder}/none; create it first`,
  })
})
