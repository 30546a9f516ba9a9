import { expect, test } from 'vitest'
import { workflow } from '../../src/index.ts'
import { outbox, topic } from '../../src/outbox/index.ts'
import { openTest, type TestRuntime } from '../../src/testing/index.ts'

const START = Date.parse('2030-01-01T00:00:00Z')
const HOUR = 3_600_000
const mails = topic<string>('mails')
const idle = workflow('idle', async (_, ctx) => ctx.sleep('300d'))

const enqueue = async (
  t: TestRuntime,
  box: ReturnType<typeof outbox>,
  text: string,
  delay?: '5h',
): Promise<void> => {
  t.database.exec('begin immediate')
  await box.in(t.database).enqueue(mails, text, delay === undefined ? {} : { delay })
  t.database.exec('commit')
}

test('handlers run on the clock of the test, and retries wait for their backoff', async () => {
  await using t = await openTest({ register: idle })
  await t.start(idle)
  const box = outbox(t)
  const seen: [string, number][] = []
  box.handle(mails, async ({ payload, attempt }, ctx) => {
    seen.push([payload, (t.now().getTime() - START) / HOUR])
    if (attempt < 3) ctx.retry('1h')
  })
  await box.start()

  await enqueue(t, box, 'hello')
  await box.drain()

  expect(seen).toEqual([
    ['hello', 0],
    ['hello', 1],
    ['hello', 2],
  ])
})

test('a delayed message comes when it is due', async () => {
  await using t = await openTest({ register: idle })
  const box = outbox(t)
  const seen: number[] = []
  box.handle(mails, async () => void seen.push((t.now().getTime() - START) / HOUR))
  await box.start()

  await enqueue(t, box, 'later', '5h')
  await t.advance('4h')
  expect(seen).toEqual([])
  await t.advance('1h')

  expect(seen).toEqual([5])
})

test('a transactional handler writes into the database of the test', async () => {
  await using t = await openTest({ register: idle })
  t.database.exec('create table sent (text text)')
  const box = outbox(t)
  box.handleTransactional(mails, async ({ payload }, { tx }) => {
    await tx.query('insert into sent values ($1)', [payload])
  })
  await box.start()

  await enqueue(t, box, 'one')
  await enqueue(t, box, 'two')
  await box.drain()

  expect(t.database.prepare('select text from sent order by text').all()).toEqual([
    { text: 'one' },
    { text: 'two' },
  ])
})

test('a start in a transaction of the test begins when it is committed', async () => {
  const hello = workflow('hello', async (name: string, ctx) => {
    await ctx.sleep('1d')
    return `hello ${name}`
  })
  await using t = await openTest({ register: hello })

  t.database.exec('begin immediate')
  const { id } = await t.in(t.database).start(hello, 'kim')
  t.database.exec('commit')

  expect(await t.get(hello, id).result()).toBe('hello kim')
})

test('a start in a transaction that is rolled back never happens', async () => {
  await using t = await openTest({ register: idle })

  t.database.exec('begin immediate')
  const { id } = await t.in(t.database).start(idle)
  t.database.exec('rollback')
  await t.settle()

  expect(await t.get(id).info()).toBeUndefined()
})
