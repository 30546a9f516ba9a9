import { afterEach, beforeEach, expect, test } from 'vitest'
import { postItem, settingsFor, startItem } from '../../../test/support/sqlite.ts'
import { MAX_UNSTARTED_IN_ALL, UNSTARTED_SAMPLE } from '../../store/constants.ts'
import { Database } from '../database.ts'
import { OPERATIONS, type OperationName } from './table.ts'

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

test('messages for ids that are never started are looked at by no claim and no tick', () => {
  run('reserve', MANY)
  run(
    'post',
    Array.from({ length: MANY }, (_, i) => postItem(`never-${i}`, { iid: i + 1 })),
  )

  expect(count(UNPARKED)).toBe(0)
})

test.each(['suspended', 'of another workflow'])(
  'mail of one that is %s is parked by ticks',
  (kind) => {
    run('reserve', MANY)
    const workflow = kind === 'suspended' ? 1 : 999
    run(
      'start',
      Array.from({ length: MANY }, (_, i) => startItem(i + 1, { workflow, owned: false })),
    )
    if (kind === 'suspended') {
      run(
        'suspend',
        Array.from({ length: MANY }, (_, i) => startItem(i + 1).id),
        '"why"',
      )
    }
    run(
      'post',
      Array.from({ length: MANY }, (_, i) => postItem(startItem(i + 1).id)),
    )
    const before = count(UNPARKED)

    for (let i = 0; i < MANY / 1_000; i++) tick()

    expect([before, count(UNPARKED)]).toEqual([MANY, 0])
  },
)

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

function tick(): unknown {
  return run('tick', { runtime, workflows: [1], tasks: null, unknown: [], held: [], idle: false })
}

function sql(text: string): unknown {
  return database.write('test', 0, (tx) => tx.sql(text).run())
}

function count(text: string): number {
  return database.write('test', 0, (tx) => (tx.sql(text).get() as { count: number }).count)
}
