import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { postItem, settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { MAX_UNSTARTED_MESSAGES, UNSTARTED_KEPT_MS } from '../../store/constants.ts'
import { Database } from '../file/database.ts'
import { openDriver } from '../connect/driver.ts'
import { removeUnstarted } from '../operations/unstarted.ts'
import { claim } from '../operations/claim.ts'
import { find } from '../operations/look.ts'
import { post } from '../operations/post.ts'
import { load } from '../operations/reads.ts'
import { APPLICATION_ID } from './migrate.ts'
import { INSTANCES } from '../migrations/0001_instances.ts'
import { MESSAGES } from '../migrations/0002_messages.ts'
import { TASKS } from '../migrations/0003_tasks.ts'
import { RETENTION } from '../migrations/0004_retention.ts'

/** Makes a file with another tool. */
function prepare(path: string, sql: string): void {
  const driver = openDriver(path, undefined)
  driver.exec(sql)
  driver.close()
}

function server(path: string): string {
  const database = new Database(settingsFor(path))
  const found = database.read('test', 0, (tx) => tx.server)
  database.close()
  return found
}

test('a new file gets the schema, our mark and a number', () => {
  using file = tempFile()

  new Database(settingsFor(file.path)).close()

  const driver = openDriver(file.path, undefined)
  expect(driver.prepare('pragma application_id').get()).toMatchObject({
    application_id: 0x48465354,
  })
  expect(driver.prepare('pragma user_version').get()).toMatchObject({ user_version: 14 })
  expect(driver.prepare('select count(*) as count from instances').get()).toEqual({ count: 0 })
  driver.close()
})

test('a file of the first schema keeps all its data', () => {
  using file = tempFile()
  const mark = `pragma application_id = ${APPLICATION_ID}; pragma user_version = 1;`
  prepare(file.path, `${INSTANCES} ${mark} ${FIRST_SCHEMA_ROWS}`)
  const before = openDriver(file.path, undefined)
  const { server: identity } = before.prepare('select server from store').get() as {
    server: string
  }
  before.close()

  const database = new Database(settingsFor(file.path))

  const [running, ended] = database.read('test', 0, (tx) => find(tx, ['running', 'ended']))
  expect(running).toMatchObject({ iid: 1, status: 'running', parent: null, labels: '{}', mail: 0 })
  expect(ended).toMatchObject({ status: 'completed', output: '42', createdAt: 5, finishedAt: 7 })
  const [loaded] = database.read('test', 0, (tx) => load(tx, [{ iid: 1, after: 0 }]))
  expect(loaded).toMatchObject({
    workflow: { name: 'order', version: '1' },
    history: [{ turn: 1, at: 5, events: 'started' }],
    inbox: [
      { id: 1, kind: 'completed', execution: 1, command: 12, payload: '"yes"', parked: false },
      { id: 2, kind: 'failed', execution: 1, command: 3, payload: '{"message":"no"}' },
    ],
  })
  expect(database.read('test', 0, (tx) => tx.server)).toBe(identity)
  database.close()
})

test('numbers of messages that were deleted before a migration are not used again', () => {
  using file = tempFile()
  const mark = `pragma application_id = ${APPLICATION_ID}; pragma user_version = 1;`
  prepare(file.path, `${INSTANCES} ${mark} ${FIRST_SCHEMA_ROWS} delete from inbox;`)
  const database = new Database(settingsFor(file.path))

  const row = database.write('test', 0, (tx) =>
    tx
      .sql(`insert into inbox (iid, kind, payload, at) values (1, 'cancel', '', 9) returning id`)
      .get(),
  )

  expect(row).toMatchObject({ id: 4 })
  database.close()
})

test('a file of the second schema keeps what is due, and what two owners died with', () => {
  using file = tempFile()
  const mark = `pragma application_id = ${APPLICATION_ID}; pragma user_version = 2;`
  prepare(file.path, `${INSTANCES} ${MESSAGES} ${mark} ${SECOND_SCHEMA_ROWS}`)
  const database = new Database(settingsFor(file.path))

  const { claims } = database.write('test', 0, (tx) =>
    claim(tx, { runtime: 8, workflows: [1], limit: 10, hinted: [] }),
  )

  expect(claims).toEqual([
    { iid: 2, epoch: 4, execution: 1, turn: 0, deaths: 2, doing: '' },
    { iid: 4, epoch: 1, execution: 1, turn: 0, deaths: 0, doing: '' },
  ])
  const [loaded] = database.read('test', 0, (tx) => load(tx, [{ iid: 4, after: 0 }]))
  expect(loaded).toMatchObject({ id: 'fourth', tasks: [] })
  database.close()
})

test('a file of the fourth schema keeps unstarted instances, for as long as any other', () => {
  using file = tempFile()
  const mark = `pragma application_id = ${APPLICATION_ID}; pragma user_version = 4;`
  const schema = [INSTANCES, MESSAGES, TASKS, RETENTION].join('\n')
  prepare(file.path, `${schema} ${mark} ${FOURTH_SCHEMA_ROWS}`)
  const database = new Database(settingsFor(file.path))
  const now = Date.now()

  const { young, removed } = database.write('test', UNSTARTED_KEPT_MS + 60_000 - now, (tx) => {
    const [{ verdict } = { verdict: '' }] = post(tx, [postItem('young')])
    return { young: verdict, removed: removeUnstarted(tx) }
  })

  expect([young, removed]).toEqual(['full', 1])
  const left = database.read('test', 0, (tx) => find(tx, ['old', 'young']))
  expect(left).toMatchObject([
    undefined,
    { status: 'unstarted', mail: MAX_UNSTARTED_MESSAGES },
  ] as object)
  database.close()
})

/** One that a message came for long ago, and one for which as many wait as may, some minutes later. */
const FOURTH_SCHEMA_ROWS = `
insert into instances (iid, id, execution, status, created_at, updated_at)
values (1, 'old', 0, 'absent', 5, 5), (2, 'young', 0, 'absent', 9, 900000);
insert into inbox (iid, kind, name, payload, parked, at)
values (1, 'message', 'notes', '1', 1, 5);
insert into inbox (iid, kind, name, payload, parked, at)
select 2, 'message', 'notes', '1', 1, 9
from (
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${MAX_UNSTARTED_MESSAGES})
  select n from numbers
);
`

/** Two that two owners died with, one that is due later, and one that is due. */
const SECOND_SCHEMA_ROWS = `
insert into workflows (workflow, name, version) values (1, 'order', '1');
insert into runtimes (runtime, state, lease_until, process, info) values (8, 'alive', 9, '', '');
insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
values (4, 'fourth', 1, 1, 'running', 5, 5);
insert into runs (iid, workflow, owner, epoch, wake_at, attempts, held)
values
  (1, 1, null, 3, 7, 2, 0), (2, 1, null, 3, 5, 2, 0), (3, 1, null, 1, ${2 ** 50}, 0, 0),
  (4, 1, null, 0, 6, 0, 0);
`

/** One that runs and is owned, with two results that wait and one taken; and one that has ended. */
const FIRST_SCHEMA_ROWS = `
insert into workflows (workflow, name, version) values (1, 'order', '1');
insert into instances (iid, id, workflow, execution, status, output, created_at, updated_at, finished_at)
values (1, 'running', 1, 1, 'running', null, 5, 5, null), (2, 'ended', 1, 1, 'completed', '42', 5, 7, 7);
insert into runs (iid, workflow, owner, epoch, wake_at, attempts, held) values (1, 1, 8, 3, null, 0, 0);
insert into history (iid, execution, turn, epoch, at, first, count, events)
values (1, 1, 1, 3, 5, 1, 1, 'started');
insert into inbox (iid, kind, execution, command, payload, at)
values
  (1, 'result', 1, 12, 'completed' || char(31) || '12' || char(31) || '"yes"', 6),
  (1, 'result', 1, 3, 'failed' || char(31) || '3' || char(31) || '{"message":"no"}', 6),
  (1, 'result', 1, 4, 'completed' || char(31) || '4' || char(31) || '1', 6);
delete from inbox where command = 4;
`

test('a file keeps its identity, and two files never share one', () => {
  using file = tempFile()
  using other = tempFile()

  const first = server(file.path)

  expect(first).toMatch(/^[\da-f]{32}$/)
  expect(server(file.path)).toBe(first)
  expect(server(other.path)).not.toBe(first)
})

test('an empty file is treated like a new one', () => {
  using file = tempFile()
  writeFileSync(file.path, '')

  expect(server(file.path)).toMatch(/^[\da-f]{32}$/)
})

test('a schema from the future is refused', () => {
  using file = tempFile()
  new Database(settingsFor(file.path)).close()
  prepare(file.path, 'pragma user_version = 99')

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({
      code: 'newer_schema',
      message: `sqlite open: ${file.path} has schema 99, this version of holdfast supports up to 14`,
    }),
  )
})

test.each([
  ['with tables', 'create table guests (name text)', 0],
  ['with a version', 'pragma user_version = 3', 0],
  ['with a mark', 'pragma application_id = 252006675', 252_006_675],
])('a database of another application %s is refused, and not touched', (_, sql, id) => {
  using file = tempFile()
  prepare(file.path, sql)
  const before = readFileSync(file.path)

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({
      code: 'misconfigured',
      message: `sqlite open: ${file.path} is a database of another application (application_id ${id})`,
    }),
  )
  expect(readFileSync(file.path).equals(before)).toBe(true)
})

test('a file that is not a database is refused, and not touched', () => {
  using file = tempFile()
  writeFileSync(file.path, 'Dear diary, '.repeat(100))

  expect(() => new Database(settingsFor(file.path))).toThrow(
    expect.objectContaining({ code: 'misconfigured' }),
  )
  expect(readFileSync(file.path, 'utf8')).toBe('Dear diary, '.repeat(100))
})
