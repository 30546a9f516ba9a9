import { expect, test } from 'vitest'
import { settingsFor } from '../../../test/support/sqlite.ts'
import type { DeadLetterRequest, NewMessage, Step } from '../../store/outbox-store.ts'
import { Database, type Transaction } from '../file/database.ts'
import { register } from '../operations/runtimes.ts'
import { enqueue } from './enqueue.ts'
import { OUTBOX_OPERATIONS } from './operations.ts'
import type { StepAnswers } from './steps.ts'

// A statement that reads a whole table is quick in every test, and slow in the third month.

/** What stays small: one row, those alive, the topics, a list that was given, a few steps at a time. */
const SMALL = [
  'outbox_store',
  'outbox_topics',
  'runtimes USING INDEX runtimes_alive',
  'json_each',
  'used',
  'CONSTANT ROW',
  // From one partition to the next one, each by a search of its own.
  't',
]

/** Dead letters are listed in the order of an index, page by page, and counted. */
const FOR_PEOPLE =
  /order by failed_at desc, letter desc\s+limit \?|^select count\(\*\) as n from outbox_dead/

/** Everything that the operations do, each kind of it once. */
function everyStatement(): { readonly database: Database; readonly texts: ReadonlySet<string> } {
  const database = new Database(settingsFor(':memory:'))
  const texts = new Set<string>()
  let aheadMs = 0
  const run = <T>(work: (tx: Transaction) => T): T =>
    database.write('test', aheadMs, (tx) =>
      work({
        now: tx.now,
        server: tx.server,
        sql(text) {
          texts.add(text)
          return tx.sql(text)
        },
      }),
    )
  const call = (name: keyof typeof OUTBOX_OPERATIONS, ...args: unknown[]): unknown =>
    run((tx) =>
      (OUTBOX_OPERATIONS[name].run as (tx: Transaction, ...all: unknown[]) => unknown)(
        tx,
        'outbox',
        ...args,
      ),
    )

  call('outboxOpen')
  texts.clear()
  const runtime = (leaseMs = 30_000): number =>
    run((tx) => register(tx, { leaseMs, workflows: [], info: '' })).runtime
  const first = runtime()
  call('outboxTopics', [{ name: 'orders', partitions: 2 }])
  call('outboxAllTopics')
  run((tx) => enqueue(tx, 'outbox', MESSAGES))
  // So that what was delayed is due.
  aheadMs = 10
  call('outboxMoveDelayed')
  const step = (given: Partial<Step>, by = first): StepAnswers['answers'][number] => {
    const one: Step = {
      partition: 0,
      epoch: null,
      settle: null,
      read: 9,
      release: 'never',
      ...given,
    }
    return (call('outboxSteps', by, [one]) as StepAnswers).answers[0]!
  }
  const read = step({})
  if (read.state !== 'ok') throw new Error(read.state)
  const [one, two, three] = read.messages
  const settle = {
    cursor: 0,
    to: three!.position,
    passed: 3,
    done: [],
    failures: new Map(),
    later: new Map(),
    dueAt: null,
    dead: [{ ...one!, reason: 'no', failures: 1 }],
    deferred: [two!, three!].map((message) => ({ ...message, failures: 1, dueAt: 0 })),
    waiting: [],
  }
  const { epoch } = read
  step({ epoch, settle })
  const retry = { failures: 2, dueAt: 0 }
  const more = { ...settle, cursor: settle.to, passed: 0, dead: [], deferred: [] }
  step({ epoch, settle: { ...more, waiting: [{ position: two!.position, retry }] } })
  step({ epoch, settle: { ...more, waiting: [{ position: two!.position, retry: null }] } })
  database.sql('update runtimes set lease_until = 0').run()
  const second = runtime()
  call('outboxTick', second, 30_000)
  step({}, second)
  for (const partitions of [null, [0, 1]]) call('outboxLook', partitions)
  call('outboxOutlook')
  call('outboxRemoveDone', 100)
  call('outboxStats', [1])
  for (const request of REQUESTS) {
    call('outboxDeadLetters', request)
    call('outboxCountDeadLetters', request)
  }
  const all = REQUESTS[0]!
  call('outboxReplayDeadLetters', all, 1_000)
  call('outboxRejectDeadLetters', [1], 'no')
  call('outboxReplayDeadLetters', all, 1_000)
  call('outboxResolveDeadLetters', [1])
  call('outboxDiscardDeadLetters', all)
  call('outboxRequeueDeadLetters', [1])
  call('outboxCleanupDeadLetters', all)
  call('outboxTidy', { keysMs: 0, lettersMs: 0 })
  return { database, texts }
}

const MESSAGE: NewMessage = {
  partition: 0,
  topic: 1,
  key: 'k',
  payload: '1',
  headers: null,
  delayMs: 0,
  ttlMs: null,
  dedupeKey: null,
}

const MESSAGES: readonly NewMessage[] = [
  MESSAGE,
  MESSAGE,
  { ...MESSAGE, dedupeKey: 'once' },
  { ...MESSAGE, delayMs: 1, dedupeKey: 'twice' },
]

const REQUESTS: readonly DeadLetterRequest[] = [
  { partitions: null, state: null, limit: 10, after: null },
  { partitions: { from: 0, to: 1 }, state: 'pending', limit: 10, after: null },
  { partitions: null, state: 'pending', limit: 10, after: { failedAt: 1, letter: 1 } },
  { partitions: null, state: null, limit: 10, after: { failedAt: 1, letter: 1 } },
]

function plans(): { readonly text: string; readonly detail: string }[] {
  const { database, texts } = everyStatement()
  const found = [...texts].flatMap((text) => {
    const values = Array.from({ length: text.split('?').length - 1 }, () => null)
    const plan = database.sql(`explain query plan ${text}`).all(...values) as { detail: string }[]
    return plan.map(({ detail }) => ({ text, detail }))
  })
  database.close()
  return found
}

test('no statement reads all messages, partitions or keys', () => {
  const found = plans()

  const scans = found.filter(({ text, detail }) => {
    if (!detail.startsWith('SCAN ')) return false
    const what = detail.slice('SCAN '.length)
    if (SMALL.some((name) => what === name || what.startsWith(`${name} `))) return false
    return !FOR_PEOPLE.test(text)
  })

  expect(new Set(found.map(({ text }) => text)).size).toBeGreaterThan(50)
  expect(scans).toEqual([])
})

test('nothing of a hot path is sorted after it was read', () => {
  const sorts = plans().filter(({ detail }) => /TEMP B-TREE/.test(detail))

  // Those of dead letters are for people.
  expect(sorts.filter(({ text }) => !text.includes('outbox_dead_letters'))).toEqual([])
})

test('messages are found by partition and position, and those that wait by what is due', () => {
  const ways = plans()
    .filter(({ detail }) =>
      /^SEARCH (?:outbox_(?:messages|waiting|delayed|keys)|[mtwe])\b/.test(detail),
    )
    .map(({ detail }) => detail.replace(/^SEARCH \S+ /, ''))

  expect([...new Set(ways)].toSorted()).toEqual([
    'USING COVERING INDEX outbox_delayed_of (partition=?)',
    'USING COVERING INDEX outbox_keys_at (at<?)',
    'USING COVERING INDEX outbox_waiting_due (partition=? AND due_at>? AND due_at<?)',
    'USING COVERING INDEX outbox_waiting_due (partition=? AND due_at>?)',
    'USING COVERING INDEX outbox_waiting_of (partition=? AND key=?)',
    'USING INDEX outbox_waiting_due (partition=? AND due_at>? AND due_at<?)',
    'USING INDEX outbox_waiting_handed (partition=?)',
    // The smallest there is.
    'USING PRIMARY KEY',
    'USING PRIMARY KEY (due_at<?)',
    'USING PRIMARY KEY (due_at=? AND id=?)',
    'USING PRIMARY KEY (partition=? AND position<?)',
    'USING PRIMARY KEY (partition=? AND position=?)',
    'USING PRIMARY KEY (partition=? AND position>?)',
    // Whether there is any, and for stats.
    'USING PRIMARY KEY (partition=?)',
    'USING PRIMARY KEY (partition>?)',
    'USING PRIMARY KEY (topic=? AND key=?)',
  ])
})
