import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { channel, open as openRuntime, type Schema, workflow } from '../../src/index.ts'
import { postgres, transaction as postgresTransaction } from '../../src/postgres/index.ts'
import { transaction as sqliteTransaction } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually, openSpace } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { afterwards, ENGINE_SCENES, onPostgres } from './engine-scene.ts'

describe.each(ENGINE_SCENES)('a transaction of a workflow, on %s', (_, open) => {
  test('leaves nothing of attempts that failed', async () => {
    await using scene = await open()
    const { define, prepare, entries, space } = scene
    const add = define('add', (input, { attempt, write }) =>
      afterwards(write(`${input} ${attempt}`), () => {
        if (attempt < 3) throw new Error('not yet')
        return attempt
      }),
    )
    const book = workflow('book', async (_input: undefined, ctx) => {
      await ctx.run(prepare)
      return [await ctx.run(add, 'a'), await ctx.run(add, 'b'), await ctx.run(entries)]
    })
    const runtime = await space.open(book)

    expect(await runtime.run(book)).toEqual([3, 3, ['a 3', 'b 3']])
  })

  test('leaves nothing when its last attempt has failed', async () => {
    await using scene = await open()
    const { define, prepare, entries, space } = scene
    const add = define('add', (input, { write }) =>
      afterwards(write(input), () => {
        throw new Error('no')
      }),
    )
    const book = workflow('book', async (_input: undefined, ctx) => {
      await ctx.run(prepare)
      const end = await ctx.run(add, 'a').catch((error: Error) => error.message)
      return [end, await ctx.run(entries)]
    })
    const runtime = await space.open(book)

    expect(await runtime.run(book)).toEqual(['activity "add" failed after 3 attempts: no', []])
  })

  test('that gives a heartbeat is committed once, even over a restart', async () => {
    await using scene = await open()
    const { define, prepare, entries, space } = scene
    const add = define('add', (input, { attempt, heartbeat, write }) => {
      heartbeat({ attempt })
      return afterwards(write(input), () => attempt)
    })
    const go = channel<string>('go')
    const book = workflow('book', async (_input: undefined, ctx) => {
      await ctx.run(prepare)
      await ctx.run(add, 'a')
      await ctx.receive(go)
      return ctx.run(entries)
    })
    const first = await space.open(book)
    const { id } = await first.start(book)
    await eventually(async () => (await first.get(id).info())!.waitingFor[0]?.includes('"go"'))
    await first.close({ drain: 0 })
    const second = await space.open(book)
    await second.idle({ timeout: '10s' })
    await second.get(book, id).send(go, 'on')

    expect(await second.get(book, id).result({ timeout: '10s' })).toEqual(['a'])
  })

  test('checks and parses its input before it begins', async () => {
    await using scene = await open()
    const { define, prepare, entries, space } = scene
    const input: Schema<string, string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value: unknown) => ({ value: `parsed ${String(value)}` }),
      },
    }
    const add = define('add', (entry, { write }) => afterwards(write(entry), () => entry), {
      input,
    })
    const book = workflow('book', async (_input: undefined, ctx) => {
      await ctx.run(prepare)
      return [await ctx.run(add, 'a'), await ctx.run(entries)]
    })
    const runtime = await space.open(book)

    expect(await runtime.run(book)).toEqual(['parsed a', ['parsed a']])
  })

  test('runs its code once when the answer to its commit is lost, however late', async () => {
    await using scene = await open()
    const { define, prepare, entries, space } = scene
    let runs = 0
    const add = define('add', (entry, { write }) =>
      afterwards(write(`${entry} ${++runs}`), () => runs),
    )
    const notes = channel<string>('notes')
    const book = workflow('book', async (_input: undefined, ctx) => {
      await ctx.run(prepare)
      const added = ctx.run(add, 'a')
      await ctx.receive(notes)
      const value = await added
      await ctx.receive(notes)
      return [value, await ctx.run(entries)]
    })
    const lost = deferred()
    const resume = deferred()
    const store = changed(space.store as StoreHandle, (inner) => {
      let calls = 0
      return {
        async transact(work) {
          // The first is that of `prepare`.
          calls++
          if (calls === 2) {
            await inner.transact(work)
            lost.resolve()
            throw new StoreError('connection_lost', 'transact', 'the answer was lost')
          }
          if (calls === 3) await resume.promise
          return inner.transact(work)
        },
      }
    })
    await using runtime = await openRuntime(store, { register: book, log: space.log })

    const instance = await runtime.start(book, undefined, { id: 'b' })
    await lost.promise
    // The message has the inbox read, and with it the result that was stored.
    await instance.send(notes, 'read')
    await eventually(async () => {
      const { waitingFor } = (await instance.info())!
      return waitingFor.length === 1 && waitingFor[0]!.includes('notes')
    })
    resume.resolve()
    await instance.send(notes, 'go on')

    expect(await instance.result()).toEqual([1, ['a 1']])
    expect(runs).toBe(1)
  })
})

test('code of another store is refused, with the names of both', async () => {
  await using space = await openSpace('file')
  const foreign = postgresTransaction('pay', async () => 1)
  const book = workflow('book', async (_: undefined, ctx) => ctx.run(foreign))
  const runtime = await space.open(book)

  await expect(runtime.run(book)).rejects.toThrow(
    /transaction "pay" uses transaction\(\) of holdfast\/postgres, but the store is "sqlite"/,
  )
})

test('on PostgreSQL, other instances are started in it and commit with it', async () => {
  await using database = await testSchema('engine')
  const { url, schema } = database
  const greet = workflow('greet', async (name: string) => `hello ${name}`)
  const order = postgresTransaction(
    'order',
    { retry: { backoff: 'none' } },
    async (name: string, { tx, client, attempt }) => {
      const { id } = await client.in(tx).start(greet, name, { id: `${name}-${attempt}` })
      if (attempt < 2) throw new Error('not yet')
      return id
    },
  )
  const book = workflow('book', async (name: string, ctx) => ctx.run(order, name))
  await using runtime = await openRuntime(postgres({ url, schema }), { register: [book, greet] })

  const id = await runtime.run(book, 'Kim')

  expect(id).toBe('Kim-2')
  expect(await runtime.get('Kim-1').info()).toBeUndefined()
  expect(await runtime.get('Kim-2').info()).toMatchObject({ workflow: 'greet' })
})

test('on PostgreSQL, the owner learns at once of one that another runtime ran', async () => {
  await using database = await testSchema('engine')
  const { url, schema } = database
  const away = postgresTransaction('pay', { tag: 'away' }, async () => 'paid')
  const book = workflow('book', async (_: undefined, ctx) => {
    const paid: string[] = []
    for (let i = 0; i < 3; i++) paid.push(await ctx.run(away))
    return paid
  })
  const options = { lease: '30s' } as const
  await using owner = await openRuntime(postgres({ url, schema }), { register: book, ...options })
  await using other = await openRuntime(postgres({ url, schema }), {
    register: away,
    tags: { only: ['away'] },
    ...options,
  })
  // Until both receive hints, they poll.
  await eventually(() =>
    [owner, other].every((runtime) => runtime.health().hints.state === 'listening'),
  )

  // Each would take a tick, of ten seconds, otherwise.
  expect(await owner.run(book, undefined, { timeout: '9s' })).toEqual(['paid', 'paid', 'paid'])
})

test('on PostgreSQL, one that stays open blocks only starts of the same id', async () => {
  await using database = await testSchema('engine')
  const { url, schema } = database
  const greet = workflow('greet', async (name: string, ctx) => ctx.step('s', () => `hello ${name}`))
  await using runtime = await openRuntime(postgres({ url, schema }), {
    register: greet,
    log: silentLog,
  })
  const tx = await database.connect()
  await tx.query('begin')
  await runtime.in(tx).start(greet, 'Kim', { id: 'same' })

  const same = runtime.run(greet, 'Kim', { id: 'same', timeout: '60s' })
  const others = Array.from({ length: 8 }, (_, i) =>
    runtime.run(greet, 'Kim', { id: `other ${i}` }),
  )
  expect(await Promise.all(others)).toEqual(others.map(() => 'hello Kim'))
  await tx.query('commit')

  expect(await same).toBe('hello Kim')
})

// Code that holds the event loop, as it does on SQLite, cannot be out of time.
test('on PostgreSQL, it is rolled back when it times out, even when it ignores its signal', async () => {
  await using scene = await onPostgres()
  const { define, prepare, entries, space } = scene
  const options = { timeout: '200ms', retry: { backoff: 'none', maxAttempts: 50 } }
  const add = define(
    'add',
    async (entry, { attempt, signal, write }) => {
      if (attempt === 1) await new Promise((end) => signal.addEventListener('abort', end))
      await write(`${entry} ${attempt}`)
      return attempt
    },
    options,
  )
  const book = workflow('book', async (_input: undefined, ctx) => {
    await ctx.run(prepare)
    return [await ctx.run(add, 'a'), await ctx.run(entries)]
  })
  const runtime = await space.open(book)

  // Any later attempt may be out of time as well, on a machine that is busy.
  const [attempt, written] = (await runtime.run(book)) as [number, string[]]
  expect(attempt).toBeGreaterThan(1)
  expect(written).toEqual([`a ${attempt}`])
})

test('on SQLite, nothing can be started in it', async () => {
  await using space = await openSpace('file')
  const pay = sqliteTransaction('pay', { retry: { maxAttempts: 1 } }, (_: undefined, ctx) => {
    ctx.client.in(ctx.tx as never)
  })
  const book = workflow('book', async (_: undefined, ctx) => ctx.run(pay))
  const runtime = await space.open(book)

  await expect(runtime.run(book)).rejects.toThrow(
    'in: the tx of a SQLite transaction cannot be used here',
  )
})

test('on SQLite in memory there are none', async () => {
  await using space = await openSpace('memory')
  const pay = sqliteTransaction('pay', { retry: { maxAttempts: 1 } }, () => 1)
  const book = workflow('book', async (_: undefined, ctx) => ctx.run(pay))
  const runtime = await space.open(book)

  await expect(runtime.run(book)).rejects.toThrow('a transaction needs a database in a file')
})

/** The same store, with some methods changed. */
function changed(
  handle: StoreHandle,
  change: (inner: WorkflowStore) => Partial<WorkflowStore>,
): StoreHandle {
  return {
    kind: handle.kind,
    [OPEN_WORKFLOW_STORE]() {
      const inner = handle[OPEN_WORKFLOW_STORE]()
      const methods = change(inner)
      return new Proxy(inner, {
        get(target, name) {
          const found: unknown = Reflect.get(name in methods ? methods : target, name)
          return typeof found === 'function' ? (found.bind(target) as unknown) : found
        },
      })
    },
  }
}
