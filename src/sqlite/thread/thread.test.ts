import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { openDriver } from '../connect/driver.ts'
import { SqliteThread, startWorker } from './thread.ts'

/** A thread whose worker can be got at, the newest last. */
function threadOn(path: string, given = {}) {
  const workers: Worker[] = []
  const thread = new SqliteThread(settingsFor(path, given), (settings) => {
    const worker = startWorker(settings)
    workers.push(worker)
    return worker
  })
  return { thread, workers, [Symbol.asyncDispose]: () => thread.close() }
}

test('an argument that cannot be sent to a thread is refused, and the next call works', async () => {
  await using under = threadOn(':memory:')

  const failed = under.thread.call('reserve', [(() => 1) as unknown as number])

  await expect(failed).rejects.toMatchObject({ code: 'rejected' })
  expect(await under.thread.call('reserve', [1])).toBe(1)
})

test('a thread that ends fails its pending calls, and the next call starts another', async () => {
  using file = tempFile()
  await using under = threadOn(file.path)
  await under.thread.call('reserve', [10])

  void under.workers[0]!.terminate()
  const asked = under.thread.call('reserve', [1])

  await expect(asked).rejects.toMatchObject({
    code: 'connection_lost',
    message: `sqlite reserve: the thread that has ${file.path} open has ended`,
  })
  expect(await under.thread.call('reserve', [1])).toBe(11)
  expect(under.workers).toHaveLength(2)
})

test('a thread that ends while it waits for a lock fails its pending calls', async () => {
  using file = tempFile()
  await using under = threadOn(file.path)
  await under.thread.open()
  const other = openDriver(file.path, undefined)
  other.exec('begin immediate')

  const asked = [under.thread.call('reserve', [1]), under.thread.call('reserve', [1])]
  void under.workers[0]!.terminate()

  const settled = await Promise.allSettled(asked)
  expect(settled).toMatchObject(asked.map(() => ({ reason: { code: 'connection_lost' } })))
  other.close()
  expect(await under.thread.call('reserve', [1])).toBe(1)
})

test('a call waits until another process unlocks the file', async () => {
  using file = tempFile()
  await using under = threadOn(file.path)
  await under.thread.open()
  const other = openDriver(file.path, undefined)
  other.exec('begin immediate')

  const asked = under.thread.call('reserve', [1])
  // Answered by the same thread only after it has given up, or got, the lock for the first.
  const behind = under.thread.call('look', [[]])
  setImmediate(() => other.exec('commit'))

  expect(await Promise.all([asked, behind])).toEqual([1, []])
  other.close()
})

test('a thread that ends while idle is replaced silently', async () => {
  using file = tempFile()
  await using under = threadOn(file.path)
  await under.thread.call('reserve', [10])

  await under.workers[0]!.terminate()

  expect(await under.thread.call('reserve', [1])).toBe(11)
})

test('a database in memory ends with its thread', async () => {
  await using under = threadOn(':memory:')
  await under.thread.open()

  void under.workers[0]!.terminate()
  const asked = under.thread.call('reserve', [1])

  await expect(asked).rejects.toMatchObject({ code: 'connection_lost' })
  await expect(under.thread.call('reserve', [1])).rejects.toMatchObject({
    code: 'closed',
    message: 'sqlite reserve: the thread that held the database in memory has ended',
  })
})

test('a store that was never used is closed without a thread', async () => {
  const { thread, workers } = threadOn(':memory:')

  await thread.close()

  expect(workers).toEqual([])
})

test('timers run while calls and answers follow each other', async () => {
  await using under = threadOn(':memory:')
  await under.thread.open()
  const lanes = 50
  let answers = 0
  let isOver = false
  const follow = async (): Promise<void> => {
    while (!isOver && answers < 100 * lanes) {
      await under.thread.call('reserve', [1])
      answers++
      // The next answer is there before this one is done with.
      const untilMs = performance.now() + 0.3
      while (performance.now() < untilMs);
    }
  }

  const following = Array.from({ length: lanes }, follow)
  await new Promise((resolve) => setTimeout(resolve, 1))
  isOver = true
  await Promise.all(following)

  expect(answers).toBeLessThan(10 * lanes)
})
