import { expect, test } from 'vitest'
import {
  effectsOf,
  postItem,
  settingsFor,
  startItem,
  turnItem,
  turnRow,
} from '../../../test/support/sqlite.ts'
import { Database, type Transaction } from '../database.ts'
import { packBatch } from '../packed-batch.ts'
import { OPERATIONS, type OperationName } from './table.ts'

// A statement that reads a whole table is quick in every test, and slow in the third month.

/** What stays small: one row, those alive, a list that was given, what a limit has cut off. */
const SMALL = ['store', 'runtimes USING INDEX runtimes_alive', 'json_each', '(subquery-1)']

/** What waits for an owner and is not parked: a claim looks at all of it, in the index alone. */
const UNPARKED = 'inbox USING COVERING INDEX inbox_unparked'

test('no operation reads all of a table that grows', () => {
  const database = new Database(settingsFor(':memory:'))
  const texts = new Set<string>()
  const recording = (tx: Transaction): Transaction => ({
    now: tx.now,
    server: tx.server,
    sql(text) {
      texts.add(text)
      return tx.sql(text)
    },
  })
  const run = (name: OperationName, ...args: readonly unknown[]): unknown =>
    database.write('test', 0, (tx) =>
      (OPERATIONS[name].run as (tx: Transaction, ...args: readonly unknown[]) => unknown)(
        recording(tx),
        ...args,
      ),
    )

  runEverything(run)
  const scans = [...texts].flatMap((text) => scansOf(database, text))

  expect(texts.size).toBeGreaterThan(50)
  expect(scans.filter((scan) => !isHarmless(scan))).toEqual([])
  expect(scans).toContain(`SCAN ${UNPARKED}`)
  database.close()
})

/** Calls every operation, with what makes it use every statement that it has. */
function runEverything(run: (name: OperationName, ...args: readonly unknown[]) => unknown): void {
  const workflow = { name: 'order', version: '1' }
  const registration = { leaseMs: 30_000, workflows: [workflow], info: 'test' }
  const { runtime, server } = run('register', registration) as { runtime: number; server: string }
  const commit = (starts: unknown[], turns: unknown[]): unknown =>
    run('commit', packBatch({ runtime, server, starts, turns } as never))
  const parent = { iid: 1, id: 'order-1', execution: 1, command: 1, onClose: 'cancel' } as const
  const end = { status: 'completed', output: '1' } as const
  const effects = effectsOf({
    parked: [1],
    closes: [1],
    clearsState: true,
    state: [
      { key: 'a', value: '1' },
      { key: 'b', value: null },
    ],
    progress: '1',
    replies: [{ to: 'somebody', payload: '1' }],
  })
  const started = { ...turnRow(1), execution: 2 }

  run('workflowNumbers', [workflow])
  run('reserve', 100)
  run('post', [postItem('order-9', { iid: 9, dedupeKey: 'once', capacity: 5 })])
  run('start', [startItem(9, { owned: false, messages: [{ name: 'notes', payload: '1' }] })])
  run('claim', { runtime, workflows: [1], limit: 10, hinted: [9] })
  commit([startItem(1), startItem(2, { parent }), startItem(3), startItem(4), startItem(5)], [])
  commit([startItem(1), startItem(6, { id: 'order-1' }), startItem(7, { end, parent })], [])
  run('send', [{ iid: 1, kind: 'completed', execution: 1, command: 2, payload: '1' }])
  run('post', [postItem('order-1', { kind: 'cancel' })])
  commit([], [turnItem(1, { effects, taken: [1] }), turnItem(2, { next: { kind: 'end', end } })])
  commit([], [turnItem(2, { next: { kind: 'end', end } }), turnItem(77)])
  commit([], [turnItem(2, { turn: null, next: { kind: 'end', end } })])
  commit([], [turnItem(3, { next: { kind: 'release', wakeAt: 5 } })])
  commit([], [turnItem(4, { next: { kind: 'hold', report: 'why' } })])
  for (const [iid, keep] of [
    [1, true],
    [5, false],
  ] as const) {
    const next = { kind: 'continue', started, workflow: 1, keep } as const
    commit([], [turnItem(iid, { turn: turnRow(3), next })])
  }
  commit([], [turnItem(1, { turn: null, effects: effectsOf({ closes: 'all' }) })])
  for (const workflows of [[], [1]]) run('tick', { runtime, leaseMs: 30_000, workflows })
  run('claim', { runtime, workflows: [1], limit: 10, hinted: [] })
  run('load', [{ iid: 1, after: 0 }])
  run('verify', runtime, [{ iid: 1, epoch: 1, execution: 2, turn: 1 }])
  run('owned', runtime)
  run('find', ['order-1'])
  run('look', [1])
  run('history', 1, 1)
  run('readState', [{ id: 'order-1', key: 'a' }])
  run('replies', ['somebody'])
  run('suspend', ['order-1'], 'why')
  run('resume', ['order-1'])
  run('terminate', [{ id: 'order-1', output: '1', events: 'ended' }])
  run('remove', ['order-1'])
  run('import', {
    iid: 50,
    id: 'imported',
    workflow: 1,
    labels: '{}',
    turns: [turnRow(1)],
    state: [{ key: 'a', value: '1' }],
  })
  run('import', { iid: 51, id: 'imported', workflow: 1, labels: '{}', turns: [], state: [] })
  run('unregister', runtime)
}

function scansOf(database: Database, text: string): string[] {
  const values = Array.from({ length: text.split('?').length - 1 }, () => null)
  const plan = database.sql(`explain query plan ${text}`).all(...values) as { detail: string }[]
  return plan.map(({ detail }) => detail).filter((detail) => detail.startsWith('SCAN '))
}

function isHarmless(scan: string): boolean {
  const what = scan.slice('SCAN '.length)
  return what === UNPARKED || SMALL.some((name) => what === name || what.startsWith(`${name} `))
}
