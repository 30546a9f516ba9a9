import { describe, expect, test } from 'vitest'
import type { Statements } from '../../src/sqlite/transactions/transact-statements.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { tempFile } from '../support/sqlite.ts'
import { openSqlite } from '../support/store-under-test.ts'
import { openScene, type Scene } from './scene.ts'
import { openHandle } from './sqlite-handle.ts'

type Code = (tx: Statements) => unknown

/** The outcome of a transaction with this code. */
async function attempt(scene: Scene, code: Code): Promise<unknown> {
  const work = scene.work((tx) => {
    const result = code(tx as Statements)
    return result instanceof Promise ? result.then(() => '1') : '1'
  })
  return scene.under.store.transact(work).catch((error: unknown) => error)
}

/** Adds an entry that is taken back with everything, should there be one like it. */
const OR_ROLLBACK = `insert or rollback into entries values ('a')`

async function uniqueScene(): Promise<Scene> {
  const scene = await openScene(openSqlite)
  await scene.under.sql('create unique index once on entries (entry)')
  return scene
}

describe('code that misuses its transaction', () => {
  test.each<[string, RegExp, Code]>([
    ['is async', /^transaction: on SQLite its code must not be async/, async () => {}],
    [
      'is async and fails',
      /^transaction: on SQLite its code must not be async/,
      () => Promise.reject(new Error('ignored')),
    ],
    [
      'commits',
      /^transaction: "commit" was not run: it is committed when its code returns/,
      (tx) => tx.run('commit'),
    ],
    ['begins', /^transaction: "begin" was not run/, (tx) => tx.run('begin')],
    [
      'rolls back',
      /^transaction: " -- x\\nrollback" was not run/,
      (tx) => tx.all(' -- x\nrollback'),
    ],
    [
      'hands over something else than SQL',
      /^transaction: tx takes SQL and values, got an array of 1$/,
      (tx) => tx.run(['select 1'] as unknown as string),
    ],
  ])('one that %s is refused, and nothing has happened', async (_, message, code) => {
    await using scene = await openScene(openSqlite)

    const end = await attempt(scene, (tx) => {
      tx.run('insert into entries values (?)', 'a')
      return code(tx)
    })

    expect(end).toBeInstanceOf(Error)
    expect((end as Error).message).toMatch(message)
    expect(await scene.entries()).toEqual([])
    expect(await scene.inbox()).toEqual([])
    expect(await attempt(scene, () => {})).toBe('done')
  })

  test('code that continues after a statement rolled everything back cannot write', async () => {
    await using scene = await uniqueScene()
    const errors: unknown[] = []

    const end = await attempt(scene, (tx) => {
      tx.run(OR_ROLLBACK)
      for (const sql of [OR_ROLLBACK, `insert into entries values ('b')`]) {
        try {
          tx.run(sql)
        } catch (error) {
          errors.push(error)
        }
      }
    })

    expect(errors).toMatchObject([
      { message: expect.stringContaining('UNIQUE') },
      { message: expect.stringMatching(/^transaction: a statement rolled it back .*UNIQUE/) },
    ])
    expect((end as Error).message).toMatch(/^transaction: a statement rolled it back/)
    expect(await scene.entries()).toEqual([])
    expect(await scene.inbox()).toEqual([])
    expect(await attempt(scene, () => {})).toBe('done')
  })

  test('code that does not catch such an error is rejected with it', async () => {
    await using scene = await uniqueScene()

    const end = await attempt(scene, (tx) => {
      tx.run(OR_ROLLBACK)
      tx.run(OR_ROLLBACK)
    })

    expect((end as Error).message).toMatch(/^UNIQUE constraint failed/)
    expect(await scene.entries()).toEqual([])
  })

  test('code that continues after its end cannot write', async () => {
    await using scene = await openScene(openSqlite)
    let kept!: Statements

    await attempt(scene, (tx) => void (kept = tx))

    expect(() => kept.run(`insert into entries values ('late')`)).toThrow(
      'transaction: tx was used after the code had returned or thrown: nothing was run',
    )
    expect(await scene.entries()).toEqual([])
  })
})

test('an ordinary error rolls back its own statement only, and code may continue', async () => {
  await using scene = await uniqueScene()

  const end = await attempt(scene, (tx) => {
    tx.run('insert into entries values (?)', 'a')
    expect(() => tx.run('insert into entries values (?)', 'a')).toThrow('UNIQUE')
    tx.run('savepoint s')
    tx.run('insert into entries values (?)', 'b')
    tx.run('rollback to s')
  })

  expect(end).toBe('done')
  expect(await scene.entries()).toEqual(['a'])
})

test('statements bring rows and counts', async () => {
  await using scene = await openScene(openSqlite)

  await attempt(scene, (tx) => {
    expect(tx.run(`insert into entries values ('a'), ('b')`)).toEqual({ changes: 2 })
    expect(tx.all('select entry from entries where entry > ?', 'a')).toEqual([{ entry: 'b' }])
  })

  expect(await scene.entries()).toEqual(['a', 'b'])
})

test('a constraint error at the commit is thrown as it is', async () => {
  await using scene = await openScene(openSqlite)
  await scene.under.sql(
    'create table child (entry text references parent deferrable initially deferred)',
  )
  await scene.under.sql('create table parent (entry text primary key)')

  const end = await attempt(scene, (tx) => {
    tx.run('pragma defer_foreign_keys = on')
    tx.run(`insert into child values ('nobody')`)
  })

  expect((end as Error).message).toMatch(/^FOREIGN KEY constraint failed/)
  expect(end).not.toBeInstanceOf(StoreError)
  expect(await scene.inbox()).toEqual([])
})

test('a thousand different texts are not kept prepared forever', async () => {
  await using scene = await openScene(openSqlite)

  const end = await attempt(scene, (tx) => {
    for (let i = 0; i < 1_100; i++) tx.run(`insert into entries values ('${i}')`)
  })

  expect(end).toBe('done')
  const next = scene.work(scene.adds('next'), { command: 2 })
  expect(await scene.under.store.transact(next)).toBe('done')
  expect(await scene.entries()).toHaveLength(1_101)
})

test('while another connection writes, it waits without holding up anything else', async () => {
  using file = tempFile()
  await using scene = await openScene(() => openSqlite({ path: file.path }))
  const other = openHandle(file.path)
  other.exec('begin immediate')

  let isOver = false
  const end = attempt(scene, () => {}).finally(() => (isOver = true))
  // The event loop is not blocked.
  for (let rounds = 0; rounds < 1_000; rounds++) await new Promise(setImmediate)
  const wasOver = isOver
  other.exec('commit')
  other.close()

  expect(await end).toBe('done')
  expect(wasOver).toBe(false)
})

test('it gives up on a connection that does not end', async () => {
  using file = tempFile()
  await using scene = await openScene(() => openSqlite({ path: file.path, busyMs: 20 }))
  const other = openHandle(file.path)
  other.exec('begin immediate')

  const end = await attempt(scene, () => {})
  other.close()

  expect(end).toMatchObject({ name: 'StoreError', code: 'busy' })
  expect(await attempt(scene, () => {})).toBe('done')
})

test('a database in memory says that it has none', async () => {
  await using scene = await openScene(() => openSqlite({ path: ':memory:' }))

  expect(await attempt(scene, () => {})).toMatchObject({
    name: 'StoreError',
    code: 'misconfigured',
    message: expect.stringContaining('a transaction needs a database in a file'),
  })
})
