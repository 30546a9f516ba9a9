import { expect, test } from 'vitest'
import type { QueueBatch } from '../../store/queue-store.ts'
import { sqliteSettings } from '../connect/options.ts'
import { Database, type Transaction } from '../file/database.ts'
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
      takes: [{ max: 10, isPrefetched: false }],
      leaseMs: 1,
      maxAttempts: 1,
      capacity: 100,
      inOrder: true,
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
  }
  apply({ pushes: [push, { ...push, dedupeKey: null }] })
  const change = { id: 0, receipt: 1, ms: 1, reason: 'r' }
  apply({
    takes: [],
    changes: [
      { ...change, kind: 'extend' },
      { ...change, kind: 'release' },
    ],
  })
  apply({
    changes: [
      { ...change, kind: 'dead_letter' },
      { ...change, kind: 'retry' },
    ],
  })
  apply({ changes: [{ ...change, kind: 'nack', receipt: 2 }], maxAttempts: 9 })
  apply({
    changes: [
      { ...change, kind: 'ack', receipt: 3 },
      { ...change, kind: 'ack', id: 1 },
    ],
  })
  run((tx) => QUEUE_OPERATIONS.queueLook.run(tx, own))
  run((tx) => QUEUE_OPERATIONS.queueFind.run(tx, own.queue, 0))
  for (const dead of [true, false]) {
    run((tx) => QUEUE_OPERATIONS.queuePage.run(tx, own.queue, { after: -1, limit: 1, dead }))
  }
  apply({ pushes: [push] })
  run((tx) => QUEUE_OPERATIONS.queueClose.run(tx, own))
  return { database, seen }
}

/** How each statement goes about it: a line for each table that it looks into. */
function plans(): { readonly text: string; readonly detail: string }[] {
  const { database, seen } = statements()
  const found = [...seen].flatMap((text) => {
    const count = (text.match(/\?/g) ?? []).length
    const plan = database
      .sql(`explain query plan ${text}`)
      .all(...Array.from({ length: count }, () => null))
    return (plan as { detail: string }[]).map(({ detail }) => ({ text, detail }))
  })
  database.close()
  return found
}

test('no statement reads all messages, or all that were pushed under a key', () => {
  const scans = plans().filter(({ detail }) => /^SCAN (messages|dedupes|large_data)/.test(detail))

  expect(scans).toEqual([])
})

// Of each state there may be any number, also of one key: an index that holds others too, or of
// which only the first column is used, is as bad as reading all of them.
test('each statement finds messages by an index of only those it needs', () => {
  const ways = plans()
    .filter(({ detail }) => detail.startsWith('SEARCH messages'))
    .map(({ detail }) => {
      const index = /INDEX (\w+)|PRIMARY KEY/.exec(detail)
      const columns = detail.match(/\w+(?=[=<>]+\?)/g) ?? []
      return [index?.[1] ?? index?.[0], ...new Set(columns)].join(' ')
    })

  expect([...new Set(ways)].toSorted()).toEqual([
    'PRIMARY KEY rowid',
    'messages_blocked queue key',
    'messages_dead queue id',
    'messages_due queue state due_at',
    'messages_expiring queue expires_at',
    'messages_first_of_key queue key',
    'messages_ready queue',
  ])
})
