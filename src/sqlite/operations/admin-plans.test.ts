import { expect, test } from 'vitest'
import { settingsFor, startItem } from '../../../test/support/sqlite.ts'
import type { InstanceQuery } from '../../store/admin-store.ts'
import { queryFor, taskQuery } from '../../testing/contract/admin-items.ts'
import { Database, type Transaction } from '../file/database.ts'
import { removeExpired } from './remove-expired.ts'
import { findTasks } from './figures.ts'
import { search } from './search.ts'
import { register } from './runtimes.ts'
import { startInstance } from './starts.ts'
import { prune, removeTrees, tree } from './trees.ts'

// A search, a tree and a removal read what they are asked to, by an index. Only `depths` and `fleet`, which
// are for people who ask for figures, read what is unfinished.

/** What bounds itself: a limit, or a list that was given. */
const BOUNDED = [
  'runs',
  'runs USING COVERING INDEX runs_held',
  'tasks',
  'tasks USING INDEX sqlite_autoindex_tasks_1',
  'json_each',
  'few',
  'wanted',
  'own',
  '(subquery-1)',
  'CONSTANT ROW',
]

const SEARCHES: readonly Partial<InstanceQuery>[] = [
  {},
  { order: 'oldest', createdFrom: 1, createdUntil: 2 },
  { workflow: 'order', version: '1', statuses: ['completed', 'running'] },
  { statuses: ['suspended'] },
  { statuses: ['running'] },
  { statuses: ['scheduled', 'running'] },
  { statuses: ['failed', 'terminated'], finishedFrom: 1, finishedUntil: 2 },
  { parent: 'order-1', order: 'oldest' },
  { labels: [['a', '1']], minExecution: 2 },
  { idPrefix: 'order' },
]

test('searches, trees and removals read no table through', () => {
  const database = new Database(settingsFor(':memory:'))
  const texts = new Set<string>()
  database.write('test', 0, (tx) => {
    const recording: Transaction = {
      now: tx.now,
      server: tx.server,
      sql(text) {
        texts.add(text)
        return tx.sql(text)
      },
    }
    const parent = { iid: 1, id: 'order-1', execution: 1, command: 1, onClose: 'cancel' } as const
    const end = { status: 'failed', output: '1' } as const
    register(tx, { leaseMs: 1, info: '', workflows: [{ name: 'order', version: '1' }] })
    startInstance(tx, startItem(1, { owned: false, labels: '{"a":"1"}', end }), null, new Map())
    startInstance(tx, startItem(2, { owned: false, parent, end }), null, new Map())
    register(tx, {
      leaseMs: 1,
      info: '',
      workflows: [{ name: 'order', version: '1', retentionMs: 1 }],
    })
    for (const query of SEARCHES) {
      search(recording, queryFor(query), { after: null, limit: 10, scan: 100 })
    }
    for (const given of [{}, { instance: 'order-1', state: 'waiting' as const }]) {
      findTasks(recording, taskQuery(given), { after: null, limit: 1, scan: 10 })
    }
    tree(recording, 2, { fromRoot: true, limit: 10 })
    prune(recording, { iids: [1], keep: 1, endedUntil: null })
    removeTrees(recording, [1], { together: true })
    removeExpired(recording)
  })

  const scans = [...texts].flatMap((text) => plansOf(database, text, 'SCAN '))
  const sorts = [...texts].flatMap((text) => plansOf(database, text, 'USE TEMP B-TREE'))

  expect(texts.size).toBeGreaterThan(30)
  expect(scans.filter((scan) => !isBounded(scan))).toEqual([])
  // The order comes from the index; only the few unnoted workflows and sources with few rows are sorted.
  expect(sorts).toHaveLength(1 + [...texts].filter((text) => text.includes(' as few ')).length)
  database.close()
})

function plansOf(database: Database, text: string, kind: string): string[] {
  const values = Array.from({ length: text.split('?').length - 1 }, () => null)
  const plan = database.sql(`explain query plan ${text}`).all(...values) as { detail: string }[]
  return plan.map(({ detail }) => detail).filter((detail) => detail.startsWith(kind))
}

function isBounded(scan: string): boolean {
  const what = scan.slice('SCAN '.length)
  const isSmall = /^(workflows|named) USING/.test(what)
  return isSmall || BOUNDED.some((name) => what === name || what.startsWith(`${name} `))
}
