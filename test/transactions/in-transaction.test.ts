import { describe, expect, test } from 'vitest'
import {
  channel,
  type Client,
  ConflictError,
  connect,
  type InTransaction,
  message,
  NotFoundError,
  open as openRuntime,
  workflow,
} from '../../src/index.ts'
import { memoryLog } from '../support/workers.ts'
import { DRIVERS, type Inside, type Place } from './drivers.ts'

const notes = channel<string>('notes', { capacity: 2 })
const greet = workflow('greet', async (name: string) => `hello ${name}`)
const listen = workflow('listen', async (count: number, ctx) => {
  const received: string[] = []
  while (received.length < count) received.push(await ctx.receive(notes))
  return received
})

interface Scene extends Place {
  readonly client: Client
  /** Runs `work` in a transaction that is committed, with an entry of the user's own. */
  commit<T>(work: (holdfast: InTransaction, inside: Inside) => Promise<T>): Promise<T>
  entries(): Promise<number>
}

async function openScene(open: () => Promise<Place>): Promise<Scene> {
  const place = await open()
  const client = connect(place.store)
  return {
    ...place,
    client,
    commit: (work) =>
      place.transaction(async (inside) => {
        await inside.run(`insert into ${place.table} values ('mine')`)
        return work(client.in(inside.tx), inside)
      }),
    async entries() {
      return (await place.look(`select entry from ${place.table}`)).length
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

const ODD = `it's a "quoted" \\n $1 ::text\u0000\u0001 \u{1f600} \\`

/** SQL, wherever it would end up: in a name of a schema that holds `$2`, in text, behind a value. */
const HOSTILE = [`"; drop table entries; --`, `'; drop table entries; --`, `\\'; select $1, $2`]

describe.each(DRIVERS)('in a transaction of %s', (_, open) => {
  test('starts, messages and cancellations take effect when it is committed', async () => {
    await using scene = await openScene(open)
    const { client } = scene
    await client.start(greet, 'nobody', { id: 'unwanted', delay: '1h' })

    const started = await scene.commit(async (holdfast) => {
      await holdfast.send('listener', notes, ODD)
      await holdfast.cancel('unwanted', 'not needed')
      for (const id of HOSTILE) {
        await holdfast.send(id, notes, id)
        await holdfast.start(listen, 1, { id, labels: { id } })
      }
      const options = { id: 'greeter', labels: { for: 'Kim' } }
      await holdfast.start(listen, 2, { id: 'listener', send: message(notes, 'from the start') })
      return holdfast.start(greet, ODD, options)
    })

    expect(started).toEqual({ id: 'greeter' })
    expect(await client.get('greeter').info()).toMatchObject({
      workflow: 'greet',
      labels: { for: 'Kim' },
    })
    await using runtime = await openRuntime(scene.store, { register: [greet, listen] })
    expect(await runtime.get(greet, 'greeter').result()).toBe(`hello ${ODD}`)
    expect(await runtime.get(listen, 'listener').result()).toEqual([ODD, 'from the start'])
    await expect(runtime.get('unwanted').result()).rejects.toMatchObject({ reason: 'not needed' })
    for (const id of HOSTILE) expect(await runtime.get(listen, id).result()).toEqual([id])
    expect(await scene.entries()).toBe(1)
  })

  test('nothing takes effect when it is rolled back', async () => {
    await using scene = await openScene(open)
    const { client } = scene
    await client.start(listen, 1, { id: 'listener' })

    const rolledBack = scene.commit(async (holdfast) => {
      await holdfast.start(greet, 'Kim', { id: 'greeter' })
      await holdfast.send('listener', notes, 'hi')
      await holdfast.send('early', notes, 'hi')
      await holdfast.cancel('listener')
      throw new Error('no')
    })

    await expect(rolledBack).rejects.toThrow('no')
    expect(await scene.entries()).toBe(0)
    expect(await client.get('greeter').info()).toBeUndefined()
    const ids = `select id from ${scene.table.replace('entries', 'instances')}`
    expect(await scene.look(ids)).toEqual([{ id: 'listener' }])
    const mail = `select iid from ${scene.table.replace('entries', 'inbox')}`
    expect(await scene.look(mail)).toEqual([])
  })

  test('outside of a transaction it is refused, and nothing takes effect', async () => {
    await using scene = await openScene(open)
    const holdfast = scene.client.in(scene.outside)

    await expect(holdfast.start(greet, 'Kim', { id: 'a' })).rejects.toThrow(TypeError)
    await expect(holdfast.send('b', notes, 'hi')).rejects.toThrow(/^in: .*transaction/)

    expect(await scene.client.get('a').info()).toBeUndefined()
    const ids = `select id from ${scene.table.replace('entries', 'instances')}`
    expect(await scene.look(ids)).toEqual([])
  })

  test('an id that is taken is returned or an error, as onConflict says', async () => {
    await using scene = await openScene(open)
    await scene.client.start(greet, 'Kim', { id: 'taken' })

    const ends = await scene.commit(async (holdfast) => [
      await holdfast.start(greet, 'Kim', { id: 'taken' }),
      await holdfast.start(greet, 'Ada', { id: 'taken', onConflict: 'error' }).catch(thrown),
      await holdfast.start(listen, 1, { id: 'taken' }).catch(thrown),
      await holdfast.start(greet, 'Kim', { id: 'taken', onConflict: 'restart' }).catch(thrown),
      await holdfast.start(greet, 'Kim', { id: 'new' }),
      await holdfast.start(greet, 'Kim', { id: 'new' }),
      await holdfast.start(greet, 'Kim', { id: 'new', onConflict: 'error' }).catch(thrown),
      await holdfast.cancel('nobody').catch(thrown),
    ])

    expect(ends).toEqual([
      { id: 'taken' },
      new ConflictError('start: id "taken" exists already (scheduled)', 'taken'),
      new ConflictError('start: id "taken" belongs to workflow "greet", not to "listen"', 'taken'),
      new RangeError(
        `start: onConflict must not be 'restart' in a transaction, which cannot end a running instance`,
      ),
      { id: 'new' },
      { id: 'new' },
      new ConflictError('start: id "new" exists already (scheduled)', 'new'),
      new NotFoundError('cancel: there is no instance "nobody"', 'nobody'),
    ])
    // None of them has ended the transaction.
    expect(await scene.entries()).toBe(1)
    expect(await scene.client.get('new').info()).toBeDefined()
  })

  test('an id that exists with another input, or in another workflow, is reported', async () => {
    await using scene = await openScene(open)
    const log = memoryLog()
    const client = connect(scene.store, { log })
    await client.start(greet, 'Kim', { id: 'before' })

    const [before, same, other] = await scene.transaction(async ({ tx }) => {
      const holdfast = client.in(tx)
      await holdfast.start(greet, 'Kim', { id: 'inside' })
      return [
        await holdfast.start(greet, 'Ada', { id: 'before' }),
        await holdfast.start(greet, 'Ada', { id: 'inside' }),
        await holdfast.start(listen, 1, { id: 'inside' }).catch(thrown),
      ]
    })
    await client.close()

    expect([before, same]).toEqual([{ id: 'before' }, { id: 'inside' }])
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual(
      ['before', 'inside'].map((instanceId) => ({
        level: 'warn',
        message:
          'start: an instance with this id already exists, with a different input; returning the existing one',
        data: { instanceId, workflow: 'greet', execution: 1 },
      })),
    )
    expect(other).toEqual(
      new ConflictError(
        'start: id "inside" belongs to workflow "greet", not to "listen"',
        'inside',
      ),
    )
  })

  test('a start that names no version has none until it is claimed', async () => {
    await using scene = await openScene(open)
    await scene.commit((holdfast) => holdfast.start(greet, 'Kim', { id: 'greeter' }))
    const latest = workflow('greet', { version: '2.0.0' }, async (name: string) => `hi ${name}`)

    const before = await scene.client.get('greeter').info()
    await using runtime = await openRuntime(scene.store, { register: [greet, latest] })

    expect(before!.version).toBe('')
    expect(await runtime.get(greet, 'greeter').result()).toBe('hi Kim')
  })

  test('starts of a workflow with a limit wait in line, each for its key', async () => {
    await using scene = await openScene(open)
    const limit = { concurrency: 1, key: ([key]: string) => key! }
    const waits = workflow('waits', { limit }, async (_id: string, ctx) => ctx.receive(notes))
    await using runtime = await openRuntime(scene.store, { register: waits })
    const ids = ['a-1', 'a-2', 'b-1']

    await scene.commit(async (holdfast) => {
      for (const id of ids) await holdfast.start(waits, id, { id, priority: 1 })
    })

    await expect.poll(() => runtime.admin.count({ status: 'running' }), { timeout: 15_000 }).toBe(2)
    await expect
      .poll(async () => (await runtime.get('a-2').info())!.waitingFor, { timeout: 15_000 })
      .toEqual([`its workflow's limit of 1 at a time for key "a"`])
    for (const id of ids) {
      await runtime.get(id).send(notes, id)
      expect(await runtime.get(id).result()).toBe(id)
    }
  })

  test('a channel that is full refuses, and a key is taken once', async () => {
    await using scene = await openScene(open)
    await scene.client.start(listen, 3, { id: 'listener' })

    const ends = await scene.commit((holdfast) =>
      Promise.all([
        holdfast.send('listener', notes, 'a', { dedupeKey: 'k' }),
        holdfast.send('listener', notes, 'a', { dedupeKey: 'k' }),
        holdfast.send('listener', notes, 'b'),
        holdfast.send('listener', notes, 'c').catch(thrown),
      ]),
    )

    expect(ends.at(-1)).toMatchObject({ name: 'ChannelFullError', capacity: 2 })
    const [row] = await scene.look<{ n: number | string }>(
      `select count(*) as n from ${scene.table.replace('entries', 'inbox')}`,
    )
    expect(Number(row!.n)).toBe(2)
  })
})

function thrown(error: unknown): unknown {
  return error
}
