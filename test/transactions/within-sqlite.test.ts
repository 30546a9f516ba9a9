import { describe, expect, test } from 'vitest'
import { channel, connect, open, workflow } from '../../src/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { tempFile } from '../support/sqlite.ts'
import { openHandle } from './sqlite-handle.ts'

const notes = channel<string>('notes')
const greet = workflow('greet', async (name: string) => `hello ${name}`)

describe('a handle of SQLite', () => {
  test('that has written already is no obstacle, also to a client that is not connected', async () => {
    await using scene = await openScene()
    const { handle } = scene
    await using client = connect(scene.store)
    handle.exec('begin immediate')
    handle.exec('create table entries (entry text)')

    await client.in(handle).start(greet, 'Kim', { id: 'a' })
    await client.in(handle).send('b', notes, 'early')
    handle.exec('commit')

    expect(await client.get('a').info()).toMatchObject({ workflow: 'greet' })
  })

  test('reports ids that already exist, while the store waits for its end', async () => {
    await using scene = await openScene()
    const { client, handle } = scene
    await client.start(greet, 'Kim', { id: 'there' })
    handle.exec('begin immediate')
    // Writes wait in line at the store now, and reads behind them.
    const waiting = client.start(greet, 'Kim', { id: 'other' })

    const begunMs = performance.now()
    expect(await client.in(handle).start(greet, 'Kim', { id: 'there' })).toEqual({ id: 'there' })
    const conflict = client.in(handle).start(greet, 'Kim', { id: 'there', onConflict: 'error' })
    await expect(conflict).rejects.toThrow('start: id "there" exists already')
    // As long as it waits for a lock.
    expect(performance.now() - begunMs).toBeLessThan(9_000)
    handle.exec('commit')

    await waiting
  })

  test('numbers that were rolled back are given out again', async () => {
    await using scene = await openScene()
    const { client, handle } = scene
    handle.exec('begin')
    await client.in(handle).start(greet, 'Kim', { id: 'gone' })
    handle.exec('rollback')

    handle.exec('begin')
    await client.in(handle).start(greet, 'Kim', { id: 'kept' })
    handle.exec('commit')
    await client.start(greet, 'Kim', { id: 'other' })

    expect(await client.get('gone').info()).toBeUndefined()
    expect(await client.get('kept').info()).toBeDefined()
    expect(await client.get('other').info()).toBeDefined()
  })

  test('is watched: the runtime of the process begins when it has ended', async () => {
    await using scene = await openScene()
    const { handle } = scene
    const listen = workflow('listen', async (_: undefined, ctx) => ctx.receive(notes))
    await using runtime = await open(scene.store, { register: [greet, listen] })
    const listener = await runtime.start(listen, undefined, { id: 'listener' })
    handle.exec('begin')
    await runtime.in(handle).start(greet, 'Kim', { id: 'a' })
    await runtime.in(handle).send('listener', notes, 'hi')
    handle.exec('commit')

    // Less than the ten seconds after which it would look anyway.
    expect(await runtime.get(greet, 'a').result({ timeout: '5s' })).toBe('hello Kim')
    expect(await listener.result({ timeout: '5s' })).toBe('hi')
  })

  test('may read all numbers as bigints', async () => {
    await using scene = await openScene()
    const { client, handle } = scene
    readBigInts(handle)

    handle.exec('begin')
    await client.in(handle).start(greet, 'Kim', { id: 'a' })
    await client.in(handle).send('a', notes, 'hi')
    handle.exec('commit')

    expect(await client.get('a').info()).toBeDefined()
  })

  test('is refused after its commit', async () => {
    await using scene = await openScene()
    const { client, handle } = scene
    handle.exec('begin')
    const holdfast = client.in(handle)
    await holdfast.start(greet, 'Kim', { id: 'a' })
    handle.exec('commit')

    await expect(holdfast.start(greet, 'Kim', { id: 'b' })).rejects.toThrow(
      'in: the handle is not inside a transaction: it has ended or was never begun',
    )
    expect(await client.get('b').info()).toBeUndefined()
  })

  test('of another file is refused, with both', async () => {
    await using scene = await openScene()
    await using other = await openScene()
    other.handle.exec('begin')

    await expect(scene.client.in(other.handle).start(greet, 'Kim')).rejects.toThrow(
      `in: the handle is on ${other.path}, the store in ${scene.path}`,
    )
  })

  test('of a database in memory is refused', async () => {
    await using scene = await openScene()
    const handle = openHandle(':memory:')
    handle.exec('begin')

    await expect(scene.client.in(handle).start(greet, 'Kim')).rejects.toThrow(
      `in: the handle is on a database in memory, the store in ${scene.path}`,
    )
    handle.close()
  })

  test('that does not wait for the disk is refused where the store does', async () => {
    await using scene = await openScene('fsync')
    const { client, handle } = scene
    handle.exec('pragma synchronous = normal; begin')
    const refused = client.in(handle).start(greet, 'Kim', { id: 'a' })
    await expect(refused).rejects.toThrow('run "pragma synchronous = full" on it')
    handle.exec('rollback; pragma synchronous = full; begin')
    await client.in(handle).start(greet, 'Kim', { id: 'a' })
    handle.exec('commit')

    expect(await client.get('a').info()).toBeDefined()
  })

  test.each([
    ['nothing', undefined, 'got undefined'],
    ['a client of pg', { query() {} }, 'got an object'],
  ])('%s in its place is refused at once', async (_, tx, got) => {
    await using scene = await openScene()

    expect(() => scene.client.in(tx as never)).toThrow(
      `in: needs a handle of better-sqlite3 or node:sqlite inside a transaction, ${got}`,
    )
  })
})

interface ReadsBigInts {
  /** better-sqlite3 */
  readonly defaultSafeIntegers?: (on: boolean) => void
  prepare: (text: string) => { setReadBigInts(on: boolean): void }
}

/** As users set it for all of their statements: once for all, or for each. */
function readBigInts(given: object): void {
  const handle = given as ReadsBigInts
  if (handle.defaultSafeIntegers !== undefined) return handle.defaultSafeIntegers(true)
  const prepare = handle.prepare.bind(handle)
  handle.prepare = (text) => {
    const statement = prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
}

async function openScene(durability: 'os' | 'fsync' = 'os') {
  const file = tempFile()
  const store = sqlite({ path: file.path, durability })
  const client = connect(store)
  // The store makes the file, and brings its schema up to date.
  await client.get('nobody').info()
  const handle = openHandle(file.path)
  return {
    path: file.path,
    store,
    client,
    handle,
    async [Symbol.asyncDispose]() {
      handle.close()
      await client.close()
      file[Symbol.dispose]()
    },
  }
}
