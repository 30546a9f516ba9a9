import { expect, test } from 'vitest'
import type { QueueBatch } from '../../store/queue-store.ts'
import { sqliteSettings } from '../options.ts'
import { Database, type Transaction } from '../database.ts'
import { QUEUE_OPERATIONS } from './operations.ts'
import { packBatch } from './packed-batch.ts'

/** Every statement that the operations make, by doing each kind of thing once. */
function statements(): { database: Database; seen: Set<string> } {
  const database = new Database({ ...sqliteSettings({ path: ':memory:' }), holds: 'queues' })
  const seen = new Set<string>()
  const run = <T>(work: (tx: Transaction) => T): T =>
    database.write('test', 0, (tx) =>
      work({
        now: tx.now,
        server: '',
        sql(text) {
          seen.add(text)
          return tx.sql(text)
        },
      }),
    )
  const own = run((tx) => QUEUE_OPERATIONS.queueOpen.run(tx, 'default', 1))
  const apply = (given: Partial<QueueBatch>) => {
    const batch = packBatch({
      changes: [],
      pushes: [],
      take: 10,
      leaseMs: 1,
      maxAttempts: 1,
      capacity: 100,
      dueAt: 0,
      ...given,
    })
    run((tx) => QUEUE_OPERATIONS.queueApply.run(tx, { ...own, batch, durable: true }))
  }
  const push = {
    payloads: [{ data: 'x'.repeat(5_000), format: 0 }],
    priority: 0,
    delayMs: 0,
    ttlMs: 1_000,
    key: 'k',
    dedupeKey: 'd',
    dedupeMs: 1,
    firstId: null,
  }
  apply({ pushes: [push, { ...push, dedupeKey: null, firstId: 50 }] })
  const change = { id: 0, receipt: 1, ms: 1, reason: 'r' }
  apply({
    take: 0,
    changes: [
      { ...change, kind: 'extend' },
      { ...change, kind: 'release' },
    ],
  })
  apply({
    changes: [
      { ...change, kind: 'set_aside' },
      { ...change, kind: 'retry' },
    ],
  })
  apply({
    changes: [
      { ...change, kind: 'ack', receipt: 2 },
      { ...change, kind: 'ack', id: 50 },
    ],
  })
  run((tx) => QUEUE_OPERATIONS.queueLook.run(tx, own))
  run((tx) => QUEUE_OPERATIONS.queueReserve.run(tx, own, 1))
  run((tx) => QUEUE_OPERATIONS.queueFind.run(tx, own.queue, 0))
  run((tx) => QUEUE_OPERATIONS.queuePage.run(tx, own.queue, { after: -1, limit: 1, dead: true }))
  apply({ pushes: [push] })
  run((tx) => QUEUE_OPERATIONS.queueClose.run(tx, own))
  return { database, seen }
}

test('no statement reads all messages, or all that were pushed under a key', () => {
  const { database, seen } = statements()

  const scans = [...seen].flatMap((text) => {
    const count = (text.match(/\?/g) ?? []).length
    const plan = database
      .sql(`explain query plan ${text}`)
      .all(...Array.from({ length: count }, () => null))
    return (plan as { detail: string }[])
      .filter(({ detail }) => /^SCAN (messages|dedupes|large_data)/.test(detail))
      .map(({ detail }) => `${detail}: ${text}`)
  })

  expect(seen.size).toBeGreaterThan(20)
  expect(scans).toEqual([])
  database.close()
})
