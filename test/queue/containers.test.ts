// Processes that share a file and not their numbers, as those in different containers do. Needs the
// right to make such a place; skipped where it is missing.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Worker } from 'node:worker_threads'
import { expect, type TestContext, test } from 'vitest'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { SqliteQueueStore } from '../../src/sqlite/queue-store.ts'
import { SqliteThread, startWorker } from '../../src/sqlite/thread/thread.ts'
import { tempFile } from '../support/sqlite.ts'
import { writeProgram } from './build-program.ts'
import { queueFile, queueFileSettings } from './support.ts'

const INSIDE = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Runs the program that keeps a message, in a container that says it was booted by itself. */
async function holdInContainer(context: TestContext, path: string) {
  if (spawnSync('unshare', [...INSIDE, 'true']).status !== 0) {
    return context.skip('no right to make namespaces')
  }
  const folder = dirname(path)
  const boot = join(folder, 'boot_id')
  writeFileSync(boot, '11111111-2222-3333-4444-555555555555\n')
  const program = writeProgram(folder, 'holder')
  const script = 'mount --bind "$1" /proc/sys/kernel/random/boot_id && exec "$2" "$3" "$4"'
  const child = spawn(
    'unshare',
    [...INSIDE, 'sh', '-c', script, 'sh', boot, process.execPath, program, path],
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: 120_000 },
  )
  const lines = createInterface({ input: child.stdout })
  const [said] = (await once(lines, 'line')) as [string]
  return {
    said,
    async [Symbol.asyncDispose](): Promise<void> {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

test(
  'a process in another container keeps its messages, until it is killed',
  { timeout: 180_000 },
  async (context) => {
    await using file = queueFile()
    const queue = await file.open<string>()
    await queue.push('work')
    const holder = await holdInContainer(context, file.path)
    expect(holder.said).toBe('has work')

    // A process that opens the queue checks all its users.
    const other = await file.open<string>()
    expect(await other.take()).toBeUndefined()
    expect(other.counts).toMatchObject({ inFlight: 1 })
    await holder[Symbol.asyncDispose]()
    const delivery = await other.take({ timeout: '1m' })

    expect(delivery).toMatchObject({
      data: 'work',
      attempt: 2,
      reason: 'its process ended in attempt 1',
    })
    const users = readdirSync(dirname(file.path)).filter((name) => name.includes('-user-'))
    expect(users).toHaveLength(2)
  },
)

test('nothing is left beside the file when every process has closed it', async () => {
  await using file = queueFile()
  const [one, other] = [await file.open<string>(), await file.open<string>({ name: 'other' })]
  const beside = (): number =>
    readdirSync(dirname(file.path)).filter((name) => name.includes('-user-')).length
  expect(beside()).toBe(2)

  await one.close()
  expect(beside()).toBe(1)
  await other.close()

  expect(beside()).toBe(0)
})

test('a user whose thread has ended takes its lock again with its next operation', async () => {
  using file = tempFile()
  let worker: Worker | undefined
  const thread = new SqliteThread(
    queueFileSettings(file.path),
    (settings) => (worker = startWorker(settings)),
  )
  const store = new SqliteQueueStore(thread, 'default')
  await store.open(Infinity)
  const isLocked = (): boolean => {
    const lock = openDriver(`${file.path}-user-1`, undefined)
    try {
      lock.exec('begin immediate')
      return false
    } catch {
      return true
    } finally {
      lock.close()
    }
  }
  expect(isLocked()).toBe(true)

  await worker!.terminate()
  expect(isLocked()).toBe(false)
  await store.apply({
    changes: [],
    pushes: [],
    takes: [],
    inOrder: false,
    leaseMs: 1,
    maxAttempts: 1,
    capacity: 1,
    durable: false,
  })

  expect(isLocked()).toBe(true)
  await store.close()
})
