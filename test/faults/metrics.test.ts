import { describe, expect, test } from 'vitest'

import type { Metrics } from '../../src/base/metrics.ts'
import { open, workflow } from '../../src/index.ts'
import { postgres, transaction } from '../../src/postgres/index.ts'
import { connectionsFor } from '../../src/postgres/connect/connections.ts'
import { faultyPostgres } from '../../src/testing/index.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { names, stoppedLoops, voyages } from './voyages.ts'

/** What was measured, by name and labels: sums of counts, lists of records. */
interface Table extends Metrics {
  /** The sum of what was counted. */
  of(name: string, labels: Readonly<Record<string, string>>): number
  times(procedure: string): readonly number[]
  procedures(): string[]
}

function table(): Table {
  const counts = new Map<string, number>()
  const records = new Map<string, number[]>()
  return {
    count(name, by, labels) {
      counts.set(key(name, labels), (counts.get(key(name, labels)) ?? 0) + by)
    },
    record(name, value, { procedure }) {
      if (name !== 'holdfast_db_call_ms') throw new Error(`unknown: ${name}`)
      records.set(procedure!, [...(records.get(procedure!) ?? []), value])
    },
    of: (name, labels) => counts.get(key(name, labels)) ?? 0,
    times: (procedure) => records.get(procedure) ?? [],
    procedures: () => [...records.keys()].toSorted(),
  }
}

function key(name: string, labels: object): string {
  return JSON.stringify([name, labels])
}

test('calls, items and times are reported by procedure', async () => {
  const metrics = table()
  const { register, sail } = voyages()
  const book = transaction('book', async (n: number, { tx }) => {
    await tx.query('select $1::int', [n])
    return n
  })
  const trip = workflow('trip', async (n: number, ctx) => ctx.run(book, n))
  await using database = await testSchema('metrics')
  const { url, schema } = database
  const store = postgres({ url, schema, metrics })
  await using holdfast = await open(store, { register: [register, trip], log: memoryLog() })

  await sail(holdfast, names(10))
  await holdfast.run(trip, 1)

  expect(metrics.procedures()).toEqual(
    expect.arrayContaining(['commit_batch', 'open', 'post_nowait', 'register', 'tick', 'transact']),
  )
  const commits = metrics.of('holdfast_db_calls', { procedure: 'commit_batch' })
  const [row] = await database.query<{ turns: number }>(
    'select count(*)::int as turns from history',
  )
  // Items that only release or park are no turns.
  const items = metrics.of('holdfast_db_items', { procedure: 'commit_batch' })
  expect(items).toBeGreaterThanOrEqual(row!.turns)
  expect(items).toBeLessThanOrEqual(row!.turns * 2)
  expect(commits).toBeLessThan(items)
  expect(metrics.times('commit_batch')).toHaveLength(commits)
  expect(Math.min(...metrics.times('commit_batch'))).toBeGreaterThan(0)
  expect(metrics.of('holdfast_db_items', { procedure: 'post_nowait' })).toBe(10)
  expect(metrics.of('holdfast_db_calls', { procedure: 'transact' })).toBe(1)
  expect(metrics.of('holdfast_db_calls', { procedure: 'open' })).toBe(1)
})

test('errors are reported by procedure and kind, and each attempt is a call', async () => {
  const metrics = table()
  const { register, sail } = voyages()
  await using database = await testSchema('metrics')
  const { url, schema } = database
  await using store = faultyPostgres({ url, schema, metrics })
  await using holdfast = await open(store, { register, log: memoryLog() })
  const before = metrics.of('holdfast_db_calls', { procedure: 'commit_batch' })

  using busy = store.inject({ of: 'commit_batch', sqlState: '40001', times: 2 })
  await sail(holdfast, ['v'])

  expect(busy.struck).toBe(2)
  const errors = metrics.of('holdfast_db_errors', { procedure: 'commit_batch', code: 'busy' })
  const calls = metrics.of('holdfast_db_calls', { procedure: 'commit_batch' }) - before
  expect(errors).toBe(2)
  expect(calls).toBeGreaterThan(errors)
  expect(metrics.times('commit_batch')).toHaveLength(calls + before)
})

// An async function fits the type of one that returns nothing.
const REJECTING = { count: rejects, record: rejects } as unknown as Metrics

describe('a sink that fails', () => {
  test.each<[string, Metrics]>([
    ['throws', { count: fails, record: fails }],
    ['rejects', REJECTING],
  ])('it %s: the store continues', async (_, metrics) => {
    await using database = await testSchema('metrics')
    const { register, sail, check } = voyages()
    const { url, schema } = database
    const store = postgres({ url, schema, metrics })
    await using holdfast = await open(store, { register, log: memoryLog() })

    await sail(holdfast, ['v'])

    await check(holdfast, ['v'])
    expect(stoppedLoops(holdfast)).toEqual([])
  })

  test('an invalid sink is refused', () => {
    expect(() => postgres({ metrics: { count: () => {} } as unknown as Metrics })).toThrow(
      'postgres: metrics must be a metrics sink, but it has no method record()',
    )
  })
})

test('without a sink nothing is measured', async () => {
  const settings = { source: { url: 'postgres://nobody@127.0.0.1:1/none' }, schema: 'none' }
  const plain = connectionsFor(settings)
  const measured = connectionsFor({ ...settings, metrics: table() })
  const taken = measurements()

  await plain.query('tick', 'other', { text: 'select 1' }).catch(() => {})
  const off = taken.count
  await measured.query('tick', 'other', { text: 'select 1' }).catch(() => {})
  taken.restore()

  expect(off).toBe(0)
  expect(taken.count).toBe(2)
  await Promise.all([plain.close(), measured.close()])
})

/**
 * How often the time is read by the code that measures calls, and by no other code of this process.
 */
function measurements(): { readonly count: number; restore(): void } {
  const original = performance.now.bind(performance)
  let count = 0
  performance.now = () => {
    if (new Error('where').stack!.includes('postgres/connect/metrics.ts')) count++
    return original()
  }
  return {
    get count() {
      return count
    },
    restore: () => void (performance.now = original),
  }
}

function fails(): void {
  throw new Error('the sink is broken')
}

async function rejects(): Promise<void> {
  throw new Error('the sink is broken')
}
