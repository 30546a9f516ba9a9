import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { eventually } from '../../../test/support/engine.ts'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import type { LeaseOrder } from '../../store/lease-keeper.ts'
import { SharedLoopHeartbeat, sharedMs } from '../../watchdog/shared-loop-heartbeat.ts'
import { openDriver } from '../connect/driver.ts'
import { SqliteThread, startWorker } from './thread.ts'

const LEASE_MS = 600

/** A runtime on a file of its own, and the thread that renews its lease. */
async function openRuntime() {
  const file = tempFile()
  const workers: Worker[] = []
  const thread = new SqliteThread(settingsFor(file.path), (settings) => {
    const worker = startWorker(settings)
    workers.push(worker)
    return worker
  })
  const registration = { leaseMs: LEASE_MS, workflows: [], info: '' }
  const { runtime } = await thread.call('register', [registration])
  const heartbeat = new SharedLoopHeartbeat()
  heartbeat.runtime = runtime
  const order: LeaseOrder = {
    memory: heartbeat.memory,
    leaseMs: LEASE_MS,
    // The loop of these tests never beats.
    giveUpMs: 600_000,
    onHang: 'ignore',
  }
  return {
    runtime,
    heartbeat,
    thread,
    keeper: thread.keepLease(order),
    workers,
    /** When the lease ends, by the machine's clock. */
    leaseUntil(): number {
      const driver = openDriver(file.path, undefined)
      try {
        const sql = 'select lease_until as at from runtimes'
        return (driver.prepare(sql).get() as { at: number }).at
      } finally {
        driver.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await thread.close()
      file[Symbol.dispose]()
    },
  }
}

test('the lease is renewed while the thread has no requests', async () => {
  await using under = await openRuntime()
  const first = under.leaseUntil()

  await eventually(() => under.leaseUntil() > first + LEASE_MS)

  const renewedMs = under.heartbeat.renewedMs('thread')
  expect(renewedMs).toBeLessThanOrEqual(sharedMs())
  expect(sharedMs() - renewedMs).toBeLessThan(10_000)
})

test('a thread that replaces one that ended continues to renew the lease', async () => {
  await using under = await openRuntime()
  await eventually(() => under.heartbeat.renewedMs('thread') > 0)
  await under.workers[0]!.terminate()
  const before = sharedMs()

  await under.thread.call('reserve', [1])

  await eventually(() => under.heartbeat.renewedMs('thread') > before)
  expect(under.workers).toHaveLength(2)
})

test('a dropped lease is no longer renewed, and others are', async () => {
  await using under = await openRuntime()
  const other = new SharedLoopHeartbeat()
  other.runtime = under.runtime
  const order = { leaseMs: LEASE_MS, giveUpMs: 600_000, onHang: 'ignore' as const }
  under.thread.keepLease({ ...order, memory: other.memory })
  await eventually(() => under.heartbeat.renewedMs('thread') > 0)

  await under.keeper.stop()
  // Done in the order of the calls.
  await under.thread.call('reserve', [1])
  const last = under.heartbeat.renewedMs('thread')
  const otherLast = other.renewedMs('thread')
  await eventually(() => other.renewedMs('thread') > otherLast + LEASE_MS)

  expect(under.heartbeat.renewedMs('thread')).toBe(last)
})

test('a runtime that was declared dead stays so', async () => {
  await using under = await openRuntime()
  await eventually(() => under.heartbeat.renewedMs('thread') > 0)

  await under.thread.call('unregister', [under.runtime])
  const endedMs = sharedMs()
  const until = under.leaseUntil()
  await eventually(() => sharedMs() > endedMs + LEASE_MS)

  expect(under.leaseUntil()).toBe(until)
  expect(under.heartbeat.renewedMs('thread')).toBeLessThan(endedMs)
})

test('a thread that renews a lease ends when it is closed', async () => {
  await using under = await openRuntime()
  const exited = new Promise((resolve) => under.workers[0]!.once('exit', resolve))

  await under.thread.close()

  expect(await exited).toBe(0)
})
