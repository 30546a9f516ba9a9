import { describe, expect, test } from 'vitest'
import { channel, connect, open, workflow } from '../../src/index.ts'
import { postgresUrl } from '../support/postgres.ts'
import { type Inside, onPostgres, overPg } from './drivers.ts'
import { openHandle } from './sqlite-handle.ts'

const notes = channel<string>('notes')
const greet = workflow('greet', async (name: string) => `hello ${name}`)
const listen = workflow('listen', async (_: undefined, ctx) => ctx.receive(notes))

const openPlace = () => onPostgres(async (url) => overPg(url))

// Those of a language appear when it is first used.
const SETTINGS = `select name, setting from pg_settings where name not like 'plpgsql.%' order by name`

/** All settings that a statement of the transaction would see. */
async function settings({ run }: Inside): Promise<unknown> {
  const { rows } = (await run(SETTINGS)) as {
    rows: unknown
  }
  return rows
}

describe("the user's transaction", () => {
  test('keeps all of its settings', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)

    const [before, after] = await place.transaction(async (inside) => {
      await inside.run(`set local lock_timeout to '7s'`)
      await inside.run(`set local search_path to pg_catalog`)
      const first = await settings(inside)
      await client.in(inside.tx).start(greet, 'Kim')
      await client.in(inside.tx).send('early', notes, 'hi')
      return [first, await settings(inside)]
    })

    expect(after).toEqual(before)
  })

  test('is used by several at the same time, though nothing was written before', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)

    const started = await place.transaction(({ tx }) =>
      Promise.all(['a', 'b', 'c'].map((id) => client.in(tx).start(greet, 'Kim', { id }))),
    )

    expect(started.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  })

  test('must answer with rows', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)

    await expect(client.in({ query: async () => undefined }).start(greet, 'Kim')).rejects.toThrow(
      /^in: query\(\) of the transaction returned undefined instead of rows/,
    )
  })

  test('waits for the disk, even if it was set not to', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)

    const shown = await place.transaction(async (inside) => {
      await inside.run('set local synchronous_commit to off')
      await client.in(inside.tx).start(greet, 'Kim')
      return inside.run('show synchronous_commit')
    })

    expect(shown).toMatchObject({ rows: [{ synchronous_commit: 'on' }] })
  })

  test.each(['repeatable read', 'serializable'])(
    'is refused as "%s", and can continue',
    async (isolation) => {
      await using place = await openPlace()
      await using client = connect(place.store)

      const error = await place.transaction(async (inside) => {
        await inside.run(`set transaction isolation level ${isolation}`)
        const refused = await client.in(inside.tx).start(greet, 'Kim').catch(thrown)
        await inside.run(`insert into ${place.table} values ('mine')`)
        return refused
      })

      expect(error).toMatchObject({ name: 'StoreError', code: 'misconfigured' })
      expect((error as Error).message).toContain(`the transaction is "${isolation}"`)
      expect(await place.look(`select * from ${place.table}`)).toHaveLength(1)
    },
  )

  test('may roll back to a savepoint and start again', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)

    await place.transaction(async ({ tx, run }) => {
      const holdfast = client.in(tx)
      await run('savepoint before')
      await holdfast.start(greet, 'Kim', { id: 'gone' })
      await run('rollback to savepoint before')
      await holdfast.start(greet, 'Kim', { id: 'kept' })
    })

    expect(await client.get('gone').info()).toBeUndefined()
    expect(await client.get('kept').info()).toBeDefined()
  })

  test('is not one any more after its end', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)
    const kept = await place.transaction(async ({ tx }) => {
      const holdfast = client.in(tx)
      await holdfast.start(greet, 'Kim', { id: 'in time' })
      return holdfast
    })

    await expect(kept.start(greet, 'Kim', { id: 'late' })).rejects.toThrow(
      /^in: no transaction is open: it has ended or was never begun/,
    )
    expect(await client.get('late').info()).toBeUndefined()
  })

  test('in another database is refused', async () => {
    await using place = await openPlace()
    await using client = connect(place.store)
    await client.get('nobody').info()
    const elsewhere = overPg(postgresUrl().replace(/[^/]*$/, 'template1'))

    const error = await elsewhere
      .transaction(({ tx }) => client.in(tx).start(greet, 'Kim'))
      .catch(thrown)
    await elsewhere.close()

    expect(error).toMatchObject({ name: 'StoreError', code: 'misconfigured' })
    expect((error as Error).message).toContain('is the transaction in the database of the store?')
  })
})

test('while it is open, nothing waits for it but a start of the same id', async () => {
  await using place = await openPlace()
  await using runtime = await open(place.store, { register: [greet, listen] })
  const listener = await runtime.start(listen, undefined, { id: 'listener' })
  await runtime.start(greet, 'later', { id: 'later', delay: '1h' })

  const received = await place.transaction(async ({ tx }) => {
    const holdfast = runtime.in(tx)
    await holdfast.start(greet, 'Kim', { id: 'greeter' })
    await holdfast.send('listener', notes, 'from inside')
    await holdfast.send('early', notes, 'from inside')
    await holdfast.cancel('listener')

    // All of these are commits of the owner of what the transaction has written to.
    await listener.send(notes, 'from outside')
    const result = await listener.result()
    await runtime.run(greet, 'Ada', { id: 'ada' })
    return result
  })

  expect(received).toBe('from outside')
  expect(await runtime.get(greet, 'greeter').info()).toBeDefined()
})

test.each([
  ['nothing', undefined],
  ['text', 'tx'],
  ['something else', { begin() {} }],
  ['a handle of SQLite', openHandle(':memory:')],
])('%s in place of a transaction is refused at once', async (_, tx) => {
  await using place = await openPlace()
  await using client = connect(place.store)

  expect(() => client.in(tx as never)).toThrow(
    /^in: needs a transaction of pg, postgres.js, Kysely, Drizzle, Prisma or TypeORM, got /,
  )
})

function thrown(error: unknown): unknown {
  return error
}
