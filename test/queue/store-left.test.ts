// What a queue leaves in its thread when it is closed: nothing.

import { expect, test, vi } from 'vitest'
import { openQueue } from '../../src/queue/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { Database } from '../../src/sqlite/file/database.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { ownProcess } from '../../src/sqlite/file/process-place.ts'
import { knownDisks } from '../../src/sqlite/queue/disk-room.ts'
import { presenceCounts } from '../../src/sqlite/queue/presence.ts'
import { SqliteQueueStore } from '../../src/sqlite/queue-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { tempFile } from '../support/sqlite.ts'
import { openUser } from './store-support.ts'
import { inlineThread, queueFileSettings, stillTime } from './support.ts'

const OTHER_CONTAINER = ownProcess().replace(/pid:\[\d+\]/, 'pid:[1]')
const THREADLESS = { thread: false, durability: 'os', log: silentLog } as const

test('nothing is left of queues in files of their own', async () => {
  using file = tempFile()
  const before = { disks: knownDisks(), ...presenceCounts() }

  for (let i = 0; i < 10; i++) {
    const queue = await openQueue<string>(`${file.path}-${i}`, THREADLESS)
    await queue.push('x')
    expect(knownDisks()).toBe(before.disks + 1)
    await queue.close()
  }

  expect({ disks: knownDisks(), ...presenceCounts() }).toEqual(before)
})

test('nothing is left of others that use a queue for a while', async () => {
  using file = tempFile()
  using _ = stillTime('performance')
  const before = presenceCounts()
  const database = new Database(queueFileSettings(file.path))
  const user = await openUser({ database })

  for (let other = 100; other < 110; other++) {
    // In another container, where only the lock of its file shows that it is there.
    database
      .sql('insert into sessions (session, queue, process) values (?, 1, ?)')
      .run(other, OTHER_CONTAINER)
    const lock = openDriver(`${file.path}-user-${other}`, undefined)
    lock.exec('begin immediate')
    expect(await user.store.look()).toMatchObject({ shared: true })
    lock.close()
    database.sql('delete from sessions where session = ?').run(other)
    vi.advanceTimersByTime(1_000)
  }

  expect(presenceCounts()).toEqual({ held: before.held + 1, seen: 1 })
  await user.store.close()
  database.close()
})

test('the lock of a queue is released with it, even when its end cannot be written', async () => {
  using file = tempFile()
  const before = presenceCounts().held
  const database = new Database(queueFileSettings(file.path))
  const thread = inlineThread(database)
  const store = new SqliteQueueStore(
    {
      call: (operation, ...rest) =>
        operation === 'queueClose'
          ? Promise.reject(new StoreError('busy', 'sqlite queueClose', 'the file is busy'))
          : thread.call(operation, ...rest),
      close: () => thread.close(),
    },
    'default',
  )
  await store.open(Infinity)
  expect(presenceCounts().held).toBe(before + 1)

  await expect(store.close()).rejects.toMatchObject({ code: 'busy' })

  expect(presenceCounts().held).toBe(before)
  database.close()
})
