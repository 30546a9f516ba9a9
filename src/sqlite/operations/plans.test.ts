import { expect, test } from 'vitest'
import {
  effectsOf,
  postItem,
  settingsFor,
  startItem,
  turnItem,
  turnRow,
} from '../../../test/support/sqlite.ts'
import { newTask } from '../../testing/contract/task-items.ts'
import { Database, type Transaction } from '../file/database.ts'
import { packCommit } from '../packing/packed-commit.ts'
import { OPERATIONS, type OperationName } from '../thread/table.ts'

// A statement that reads a whole table is quick in every test, and slow in the third month.

/** What stays small: one row, live runtimes, a given list, what a limit has cut off. */
const SMALL = [
  'store',
  'runtimes USING INDEX runtimes_alive',
  'workflows USING COVERING INDEX workflows_retained',
  'workflows USING INDEX workflows_unnoted',
  'json_each',
  '(subquery-1)',
  'CONSTANT ROW',
  // Workflows that have a limit.
  'limited USING INDEX workflows_limited',
  // Whether there is any: the first is enough.
  'r USING COVERING INDEX runs_unadmitted',
  'runs USING INDEX runs_prioritized',
  // Up to the first that is idle.
  'sessions USING INDEX sessions_touched',
  // A thousand at the most.
  'inbox USING COVERING INDEX inbox_early',
]

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
  const { runtime, server } = run('register', registrationOf(30_000)) as {
    runtime: number
    server: string
  }
  const commit = (starts: unknown[], turns: unknown[]): unknown =>
    run('commit', packCommit({ runtime, server, starts, turns } as never))
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
    replies: [{ to: 'caller', payload: '1' }],
  })
  const started = { ...turnRow(1), execution: 2 }
  const tick = {
    runtime,
    leaseMs: 30_000,
    workflows: [1],
    tasks: null,
    unknown: [],
    ownedTasks: [],
    idle: false,
  }

  // What ends is to be removed at once.
  const brief = { ...workflow, retentionMs: -1_000 }
  run('register', { leaseMs: 30_000, info: '', workflows: [brief] })
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
  commit([], [turnItem(4, { next: { kind: 'suspend', report: 'why' } })])
  for (const [iid, keep] of [
    [1, true],
    [5, false],
  ] as const) {
    const next = { kind: 'continue', started, workflow: 1, keep } as const
    commit([], [turnItem(iid, { turn: turnRow(3), next })])
  }
  commit([], [turnItem(1, { turn: null, effects: effectsOf({ closes: 'all' }) })])
  for (const workflows of [[], [1]]) run('tick', { ...tick, workflows })
  run('claim', { runtime, workflows: [1], limit: 10, hinted: [] })
  run('load', [{ iid: 1, after: 0 }])
  run('verify', runtime, [{ iid: 1, epoch: 1, execution: 2, turn: 1 }])
  run('owned', runtime)
  run('find', ['order-1'])
  run('look', [1])
  run('history', 1, 1)
  run('readState', [{ id: 'order-1', key: 'a' }])
  run('replies', ['caller'])
  const schedule = { name: 'a', revision: 'r', workflow: 1, timing: 't', template: 'u' }
  run('putSchedule', { ...schedule, nextAt: 1, anchor: 1 })
  run('putSchedule', { ...schedule, template: 'v', nextAt: 1, anchor: 1 })
  run('readSchedules', ['a'])
  run('dueSchedules', 10, ['a'])
  for (const [i, overlap] of (['allow', 'skip', 'queue', 'allow'] as const).entries()) {
    const iid = 60 + Math.min(i, 2)
    const start = startItem(iid, { owned: false, wakeAt: 0 })
    const fired = { name: 'a', revision: 'r', due: 1, missed: 1, at: 1, nextAt: 1, start, overlap }
    run('fireSchedules', [{ ...fired, setAt: 1, passed: 1, nextAfterPassed: 1 }])
  }
  run('triggerSchedule', schedule, startItem(64, { owned: false, wakeAt: 0 }))
  run('failSchedule', { ...schedule, due: 1 }, 'why')
  run('moveSchedule', { ...schedule, due: 1, nextAt: 2, setAt: 1, paused: true })
  run('removeSchedule', 'a')
  run('suspend', ['order-1'], 'why')
  run('resume', ['order-1'])
  run('terminate', [{ id: 'order-1', output: '1', events: 'ended' }])
  run('remove', ['order-1'])
  run('removeExpired')
  run('import', {
    iid: 50,
    id: 'imported',
    workflow: 1,
    labels: '{}',
    turns: [turnRow(1)],
    state: [{ key: 'a', value: '1' }],
  })
  run('import', { iid: 51, id: 'imported', workflow: 1, labels: '{}', turns: [], state: [] })
  runTasks(run, runtime)
  run('unregister', runtime)
}

/** Tasks with and without tags, sessions and limits: in time, delayed, silent, late and deadly. */
function runTasks(
  run: (name: OperationName, ...args: readonly unknown[]) => unknown,
  runtime: number,
): void {
  const { server } = run('verify', runtime, []) as { server: string }
  const limit = { key: 'k', concurrency: 1, rate: { count: 1, perMs: 1_000 } }
  const tasks = [
    newTask(1),
    newTask(2, { tag: 'gpu', session: 's', limit }),
    newTask(3, { session: 's', limit }),
    newTask(4, { startBy: 0 }),
    newTask(5, { session: 'other' }),
    newTask(6),
  ]
  const starts = [startItem(20, { effects: effectsOf({ tasks, dropsTasks: [99] }) })]
  const interest = { activities: ['charge'], served: { untagged: true, tags: 'any' } }
  const claimTasks = (by: number, given: object): unknown =>
    run('claimTasks', { ...interest, runtime: by, limit: 9, maxSessions: 9, ...given })
  const tick = {
    runtime,
    leaseMs: 30_000,
    workflows: [1],
    tasks: interest,
    unknown: ['other'],
    idle: true,
  }

  run('commit', packCommit({ runtime, server, starts, turns: [] }))
  run('aboutTo', runtime, 20, 1, 'a step')
  claimTasks(runtime, { maxSessions: 1, sessionIdleMs: -1 })
  run('beat', runtime, [
    { ...attempt(1), details: '1', silentMs: -1, local: null },
    { ...attempt(50), details: '1', silentMs: null, local: { epoch: 1, task: newTask(50) } },
  ])
  run('finishTasks', runtime, [
    { ...attempt(2), end: { kind: 'retry', delayMs: 60_000 } },
    { ...attempt(6), end: { kind: 'release', delayMs: 0.5 } },
    { ...attempt(50), end: { kind: 'completed', payload: '1' } },
  ])
  const { runtime: other } = run('register', registrationOf(30_000)) as { runtime: number }
  for (const sessionIdleMs of [60_000, -1]) claimTasks(other, { limit: 1, sessionIdleMs })
  run('suspend', ['order-20'], 'why')
  run('resume', ['order-20'])
  run('unregister', runtime)
  for (const _ of ['first', 'second']) {
    const { runtime: victim } = run('register', registrationOf(-1)) as { runtime: number }
    run('claim', { runtime: victim, workflows: [1], limit: 10, hinted: [] })
    claimTasks(victim, { sessionIdleMs: -1 })
    const { runtime: witness } = run('register', registrationOf(30_000)) as { runtime: number }
    run('tick', { ...tick, runtime: witness, ownedTasks: [attempt(1)] })
  }
  const { runtime: quarantined } = run('register', registrationOf(30_000)) as { runtime: number }
  run('claim', { runtime: quarantined, workflows: [1], limit: 10, hinted: [] })
  claimTasks(quarantined, { sessionIdleMs: 60_000 })
}

/** The first attempt of a task of instance 20. */
function attempt(command: number) {
  return { iid: 20, execution: 1, command, attempt: 1 }
}

function registrationOf(leaseMs: number) {
  return { leaseMs, workflows: [{ name: 'order', version: '1' }], info: 'test' }
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
