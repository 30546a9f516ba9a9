import { afterEach, beforeEach, expect, test } from 'vitest'
import { postItem, settingsFor, startItem } from '../../../test/support/sqlite.ts'
import { MAX_MAIL_PARKED, MAX_UNSTARTED_IN_ALL, UNSTARTED_SAMPLE } from '../../store/constants.ts'
import { Database } from '../file/database.ts'
import { OPERATIONS, type OperationName } from '../thread/table.ts'

// Claims and ticks look at all that waits for an owner and is not parked.

const MANY = 2_000
const UNPARKED = 'select count(*) as count from inbox where parked = 0'

let database: Database
let runtime: number
beforeEach(() => {
  database = new Database(settingsFor(':memory:'))
  const workflows = [{ name: 'order', version: '1' }]
  const registered = run('register', { leaseMs: 30_000, info: '', workflows })
  runtime = (registered as { runtime: number }).runtime
})
afterEach(() => database.close())

test('messages for ids that are never started are read by no claim and no tick', () => {
  run('reserve', MANY)
  run(
    'post',
    Array.from({ length: MANY }, (_, i) => postItem(`never-${i}`, { iid: i + 1 })),
  )

  expect(count(UNPARKED)).toBe(0)
})

test.each(['suspended', 'of another workflow', 'waiting for its first turn'] as const)(
  'mail of an instance that is %s is read by no claim and no tick, from the moment it is sent',
  (kind) => {
    startMany(kind)

    postMany()

    expect(count(UNPARKED)).toBe(0)
    expect(tick()).toMatchObject({ claimable: false, soon: false })
  },
)

test('a resumed instance, and one whose workflow is registered later, read their parked mail', () => {
  startMany('suspended', 1)
  startMany('of another workflow', 1)
  postMany(2)

  run('resume', [startItem(1).id])

  const claim = { runtime, workflows: [1, 999], limit: 10, hinted: [] }
  const { claims } = run('claim', claim) as { claims: { iid: number }[] }
  expect(new Set(claims.map(({ iid }) => iid))).toEqual(new Set([1, 2]))
  expect(run('load', [{ iid: 1, after: 0 }])).toMatchObject({
    instances: [{ inbox: [{ kind: 'message' }] }],
  })
})

test('mail that came before its instance was suspended is parked by ticks, one soon after the other', () => {
  startMany('running')
  postMany()
  suspendMany()
  const before = count(UNPARKED)

  const soon = Array.from({ length: MANY / MAX_MAIL_PARKED + 1 }, () => tick().soon)

  expect([before, count(UNPARKED)]).toEqual([MANY, 0])
  expect(soon).toEqual([...soon.slice(1).fill(true), false])
})

test('about a million messages are kept for what was never started, and one more is refused', () => {
  run('reserve', 10)
  run('post', [postItem('waits', { iid: 1 })])
  run('start', [startItem(2, { owned: false })])
  // Only those that are in the sample: a thousandth of them.
  const sample = (from: number, to: number): unknown =>
    sql(
      `with recursive numbers (n) as (
        select ${from} union all select n + 1 from numbers where n < ${to}
      )
      insert into inbox (id, iid, kind, payload, parked, at)
      select n * ${UNSTARTED_SAMPLE}, 900000, 'message', '1', 2, 0 from numbers`,
    )
  const enough = Math.ceil(MAX_UNSTARTED_IN_ALL / UNSTARTED_SAMPLE)
  sample(2, enough)
  const posts = [postItem('new', { iid: 3 }), postItem('waits'), postItem(startItem(2).id)]

  const nearly = run('post', [postItem('nearly', { iid: 4 })])
  sample(enough + 1, enough + 1)
  const refused = run('post', posts)
  sql('delete from inbox where iid = 900000')
  const accepted = run('post', posts)

  expect(nearly).toMatchObject([{ verdict: 'sent' }])
  expect(refused).toMatchObject(['full', 'full', 'sent'].map((verdict) => ({ verdict })))
  expect(accepted).toMatchObject(['sent', 'sent', 'sent'].map((verdict) => ({ verdict })))
})

function run(name: OperationName, ...args: readonly unknown[]): unknown {
  return database.write('test', 0, (tx) =>
    (OPERATIONS[name].run as (...args: readonly unknown[]) => unknown)(tx, ...args),
  )
}

/** Instances that do not read their messages, and those that do. */
type Kind = 'suspended' | 'of another workflow' | 'waiting for its first turn' | 'running'

/** Starts further instances. */
function startMany(kind: Kind, size = MANY): void {
  const first = run('reserve', size) as number
  const workflow = kind === 'of another workflow' ? 999 : 1
  const more = kind === 'waiting for its first turn' ? { wakeAt: 9e14 } : {}
  run(
    'start',
    Array.from({ length: size }, (_, i) =>
      startItem(first + i, { workflow, owned: false, ...more }),
    ),
  )
  if (kind === 'suspended') suspendMany(size)
}

function suspendMany(size = MANY): void {
  run('suspend', ids(size), '"why"')
}

/** A message to each instance. */
function postMany(size = MANY): void {
  run(
    'post',
    ids(size).map((id) => postItem(id)),
  )
}

function ids(size: number): string[] {
  return Array.from({ length: size }, (_, i) => startItem(i + 1).id)
}

function tick(): { readonly soon: boolean } {
  return run('tick', {
    runtime,
    workflows: [1],
    tasks: null,
    unknown: [],
    ownedTasks: [],
    idle: false,
  }) as {
    readonly soon: boolean
  }
}

function sql(text: string): unknown {
  return database.write('test', 0, (tx) => tx.sql(text).run())
}

function count(text: string): number {
  return database.write('test', 0, (tx) => (tx.sql(text).get() as { count: number }).count)
}
