import { expect, test } from 'vitest'
import { activity, channel, open, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/store.ts'
import { deferred, eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'

// Administrators set limits for roles. What runs into one is retried, and nothing is suspended.

const go = channel<number>('go')

function scene() {
  const gate = deferred()
  let calls = 0
  const wait = activity('wait', async (n: number) => {
    calls++
    await gate.promise
    return n + 1
  })
  const waits = workflow(
    'waits',
    async (n: number, ctx) => (await ctx.run(wait, n)) + (await ctx.receive(go)),
  )
  return { waits, open: () => gate.resolve(), calls: () => calls }
}

const LIMIT = '300ms'

test.for<[setting: string, words: RegExp]>([
  ['statement_timeout', /commit_batch: .*statement timeout/],
  ['lock_timeout', /commit_batch: .*lock timeout/],
  ['transaction_timeout', /commit_batch: .*transaction timeout/],
])('work continues under a role with a %s', async ([setting, words], { skip }) => {
  await using database = await testSchema()
  await using role = await roleWith(database, setting)
  if (role.url === undefined) return skip(role.why)
  const log = memoryLog()
  const store = postgres({ url: role.url, schema: database.schema })
  const { waits, ...work } = scene()
  await using runtime = await open(store, { register: [waits], log, lease: '2s' })
  const before = await runtime.start(waits, 1)
  await eventually(() => work.calls() === 1)

  // Nothing of ours gets through, for longer than the role allows.
  const blocker = await database.connect()
  await blocker.query('begin; lock table history, inbox, runs in access exclusive mode')
  work.open()
  const sent = before.send(go, 10)
  await eventually(() => log.lines.some(({ data }) => words.test(messageOf(data['err']))))
  await blocker.query('rollback')

  expect(await before.result()).toBe(12)
  await sent
  expect(work.calls()).toBe(1)
  expect(await database.query('select iid from runs where held')).toEqual([])
})

test('work continues under a role whose idle sessions are ended', async () => {
  await using database = await testSchema()
  await using role = await roleWith(database, 'idle_session_timeout')
  const { waits, ...work } = scene()
  work.open()
  const store = postgres({ url: role.url!, schema: database.schema })
  await using runtime = await open(store, { register: [waits], log: memoryLog() })
  const sessions = (): Promise<unknown[]> =>
    database.query(
      `select pid from pg_stat_activity where usename = $1 and application_name = 'holdfast'`,
      [role.name],
    )
  await eventually(async () => (await sessions()).length > 0)
  await eventually(async () => (await sessions()).length === 0)

  const instance = await runtime.start(waits, 1)
  await instance.send(go, 10)

  expect(await instance.result()).toBe(12)
})

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${messageOf(error.cause)}` : ''
}

/**
 * A role of the test's own with a limit; without an address if the server does not have that limit.
 */
async function roleWith(database: TestSchema, setting: string) {
  const name = `limited_${database.schema.slice(-8)}`
  await database.query(`create role ${name} login superuser`)
  const drop = async (): Promise<void> => {
    await database.query(`drop owned by ${name} cascade`)
    await database.query(`drop role ${name}`)
  }
  try {
    await database.query(`alter role ${name} set ${setting} to '${LIMIT}'`)
  } catch (error) {
    return { name, why: (error as Error).message, [Symbol.asyncDispose]: drop }
  }
  const url = new URL(database.url)
  url.username = name
  return { name, url: url.href, [Symbol.asyncDispose]: drop }
}
