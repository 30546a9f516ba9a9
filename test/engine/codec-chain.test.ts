// Values that are compressed and encrypted in the database: through everything that stores one, over
// restarts and rotations of keys, and for readers that lack the key.

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  activity,
  channel,
  type Codec,
  type CodecOption,
  compression,
  connect,
  type ConnectOptions,
  encryption,
  failure,
  message,
  open,
  type OpenOptions,
  request,
  type Runtime,
  stateKey,
  type Store,
  workflow,
} from '../../src/index.ts'
import { outbox, topic } from '../../src/outbox/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { openDatabase, sqlite } from '../../src/sqlite/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { reuseSchema } from '../support/reused-schemas.ts'
import { tempFile } from '../support/sqlite.ts'
import { memoryLog } from '../support/workers.ts'

const [FIRST, SECOND] = [
  { id: 'first', key: new Uint8Array(32).fill(1) },
  { id: 'second', key: Buffer.alloc(32, 2).toString('base64') },
]
const codec = [compression({ threshold: 100 }), encryption({ keys: [FIRST] })]
const rotated = [compression({ threshold: 100 }), encryption({ keys: [SECOND, FIRST] })]

// Long enough to be compressed, and in every value that is stored.
const SECRET = 'four-seven-two-nine'
const secret = (what: string): string => `${SECRET} ${what} `.repeat(8)

/** A database with a way to read every byte of it. */
interface Vault extends AsyncDisposable {
  readonly store: Store
  readonly log: ReturnType<typeof memoryLog>
  open(register: OpenOptions['register'], options?: Partial<OpenOptions>): Promise<Runtime>
  connect(options?: ConnectOptions): ReturnType<typeof connect>
  /** All that is stored, as text. */
  dump(): Promise<string>
  enqueue(run: (tx: never) => Promise<unknown>): Promise<void>
}

async function openVault(kind: 'file' | 'postgres'): Promise<Vault> {
  const closes: (() => Promise<unknown>)[] = []
  const log = memoryLog()
  const place = kind === 'file' ? fileVault() : await postgresVault()
  const { store } = place
  return {
    ...place,
    log,
    async open(register, options) {
      const runtime = await open(store, { register, log, ...options })
      closes.push(() => runtime.close({ drain: 0 }))
      return runtime
    },
    connect(options) {
      const client = connect(store, { log, ...options })
      closes.push(() => client.close())
      return client
    },
    async [Symbol.asyncDispose]() {
      for (const close of closes.toReversed()) await close()
      await place.remove()
    },
  }
}

function fileVault() {
  const file = tempFile()
  return {
    store: sqlite({ path: file.path }),
    dump: async () =>
      [file.path, `${file.path}-wal`]
        .filter((path) => existsSync(path))
        .map((path) => readFileSync(path, 'latin1'))
        .join('\n'),
    async enqueue(run: (tx: never) => Promise<unknown>) {
      const db = openDatabase({ path: file.path })
      db.exec('begin immediate')
      await run(db as never)
      db.exec('commit')
      db.close()
    },
    remove: async () => file[Symbol.dispose](),
  }
}

async function postgresVault() {
  const reused = await reuseSchema('codec')
  const { database, url } = reused
  return {
    store: postgres({ url, schema: database.schema }),
    async dump() {
      const tables = await database.query<{ name: string }>(
        `select table_name as name from information_schema.tables
         where table_schema = $1 and table_type = 'BASE TABLE'`,
        [database.schema],
      )
      const texts: string[] = []
      for (const { name } of tables) {
        const rows = await database.query<{ row: string }>(`select t::text as row from "${name}" t`)
        texts.push(name, ...rows.map(({ row }) => row))
      }
      return texts.join('\n')
    },
    async enqueue(run: (tx: never) => Promise<unknown>) {
      const client = await database.connect()
      await client.query('begin')
      await run(client as never)
      await client.query('commit')
    },
    remove: async () => reused[Symbol.asyncDispose](),
  }
}

const Declined = failure<{ why: string }>('DeclinedInCodecTest')
const notes = channel<string>('notes')
const asks = request<string, string>('asks')
const kept = stateKey<{ readonly text: string; readonly when: Date }>('kept')

const pays = activity('pays', async (text: string, ctx) => {
  ctx.heartbeat(secret('beat'))
  if (ctx.attempt === 1) throw new Error(secret('attempt'))
  return { text: `${text}${secret('paid')}`, tags: new Set([1n, 2n]) }
})
const declines = activity('declines', async () => {
  throw new Declined(secret('declined'), { why: secret('why') })
})
const child = workflow('child', async (text: string) => `${text}${secret('child')}`)
const elsewhere = activity('elsewhere', { tag: 'other' }, async (text: string) => text)

/** Stores a secret in every way there is. */
const everything = workflow('everything', async (text: string, ctx): Promise<unknown> => {
  if (ctx.info.execution === 1) {
    ctx.state.set(kept, { text: secret('state'), when: new Date(7) })
    return ctx.continueAsNew(secret('next'))
  }
  ctx.progress({ text: secret('progress') })
  const paid = await ctx.run(pays, secret('input'), { retry: { delay: 1 } })
  const refused = await ctx
    .run(declines, undefined, { retry: { maxAttempts: 1 } })
    .catch((error) => error)
  const inner = await ctx.run(child, secret('child input'))
  const task = ctx.run(elsewhere, secret('task'))
  const asked = await ctx.receive(asks)
  asked.reply(secret(asked.input))
  const note = await ctx.receive(notes)
  await ctx.get('friend').send(notes, secret('to a friend'))
  return {
    text,
    paid,
    refused: refused instanceof Declined && refused.details.why,
    inner,
    task: await task,
    note,
    state: ctx.state.get(kept),
  }
})
const RESULT = {
  text: secret('next'),
  paid: { text: secret('input') + secret('paid'), tags: new Set([1n, 2n]) },
  refused: secret('why'),
  inner: secret('child input') + secret('child'),
  task: secret('task'),
  note: secret('note'),
  state: { text: secret('state'), when: new Date(7) },
}
const friend = workflow('friend', async (_: undefined, ctx) => ctx.receive(notes))
const fails = workflow('fails', async (text: string) => {
  throw new Error(secret(text))
})
const register = [everything, child, friend, fails, pays, declines]

const greets = activity('greets', async (text: string) => `hello ${text}`)
const talks = workflow('talks', async (text: string, ctx) => {
  const first = await ctx.run(greets, text)
  const note = await ctx.receive(notes)
  return [first, note, await ctx.run(greets, note)]
})

describe.concurrent.each(['file', 'postgres'] as const)('a codec chain, on %s', (kind) => {
  test('everything comes back, also after a rotation, and nothing of it can be read', async () => {
    await using vault = await openVault(kind)
    const first = await vault.open(register, { codec })
    const other = await vault.open([elsewhere], { codec, tags: { only: ['other'] } })
    const client = vault.connect({ codec })
    await client.start(friend, undefined, { id: 'friend' })
    const instance = await client.start(everything, secret('start'), {
      id: 'all',
      send: message(notes, secret('note')),
    })
    await eventually(async () =>
      (await instance.info())?.waitingFor.some((w) => w.includes('asks')),
    )
    expect(await instance.readState(kept)).toEqual({ text: secret('state'), when: new Date(7) })
    expect((await instance.info())?.progress).toEqual({ text: secret('progress') })
    await first.close()
    await other.close()

    // Another runtime replays all of it, with a new key in front of the old one.
    await vault.open(register, { codec: rotated })
    await vault.open([elsewhere], { codec: rotated, tags: { only: ['other'] } })
    const reader = vault.connect({ codec: rotated })
    expect(await reader.get('all').request(asks, 'why')).toBe(secret('why'))
    expect(await reader.get('all').result()).toEqual(RESULT)
    expect(await reader.get('friend').result()).toBe(secret('to a friend'))
    const failed = await reader.run(fails, secret('x')).catch((error: Error) => error)
    expect(failed.message).toContain(SECRET)
    await expect(
      reader.start(friend, undefined, { id: 'stopped' }).then(async (one) => {
        await one.terminate(secret('terminated'))
        return one.result()
      }),
    ).rejects.toThrow(SECRET)
    await reader.start(friend, undefined, { id: 'held' }).then((one) => one.suspend(secret('held')))

    const stored = await vault.dump()
    expect(stored).toContain('~x')
    expect(stored).toContain('everything')
    expect(stored).not.toContain(SECRET)
    for (const part of ['state', 'progress', 'attempt', 'declined', 'terminated', 'task']) {
      expect(stored).not.toContain(`${SECRET} ${part}`)
    }
    const history = []
    for await (const event of reader.get('all').history()) history.push(event)
    expect(JSON.stringify(history)).toContain(SECRET)
  })

  test('the payload of an outbox message cannot be read either', async () => {
    await using vault = await openVault(kind)
    const client = vault.connect({ codec })
    const events = outbox(client)
    const orders = topic<string>('orders')
    const arrived = deferred<string>()
    events.handle(orders, async ({ payload }) => arrived.resolve(payload))
    await events.start()

    await vault.enqueue((tx) => events.in(tx).enqueue(orders, secret('order')))

    expect(await arrived.promise).toBe(secret('order'))
    expect(await vault.dump()).not.toContain(SECRET)
    await events.stop()
  })

  test('what was stored in plain text is read beside what is encrypted', async () => {
    await using vault = await openVault(kind)
    const before = await vault.open(talks)
    await before.start(talks, 'plain', { id: 'a' })
    await eventually(async () => (await before.get('a').info())?.waitingFor.length)
    await before.close()
    expect(await vault.dump()).toContain('hello plain')

    const after = await vault.open(talks, { codec })
    await after.get('a').send(notes, SECRET)

    expect(await after.get('a').result()).toEqual(['hello plain', SECRET, `hello ${SECRET}`])
    expect(await vault.dump()).not.toContain(SECRET)
  })

  test.each<[string, CodecOption | undefined, string]>([
    ['no codec', undefined, 'it was written with a codec (aes), and this process has none'],
    [
      'another key',
      encryption({ keys: [SECOND] }),
      'it is encrypted with the key "first", and the keys of this process are "second"',
    ],
  ])(
    'a runtime with %s suspends the instance, which continues once it has the key',
    async (_, wrong, why) => {
      await using vault = await openVault(kind)
      const keys = encryption({ keys: [FIRST] })
      const first = await vault.open(talks, { codec: keys })
      await first.start(talks, SECRET, { id: 'a' })
      await eventually(async () => (await first.get('a').info())?.waitingFor.length)
      await first.close()

      const without = await vault.open(talks, wrong === undefined ? {} : { codec: wrong })
      await vault.connect({ codec: keys }).get('a').send(notes, 'go')
      const suspended = await eventually(async () => {
        const info = await vault
          .connect({ codec: [encryption({ keys: [SECOND, FIRST] })] })
          .get('a')
          .info()
        return info?.status === 'suspended' && info
      })

      expect(suspended.error?.message).toContain('turn 1 of execution 1 cannot be read')
      expect(suspended.error?.message).toContain(why)
      await without.close()
      const again = await vault.open(talks, { codec: keys })
      await again.get('a').resume()
      expect(await again.get('a').result()).toEqual([`hello ${SECRET}`, 'go', 'hello go'])
    },
  )

  test('a client without the codec gets a clear error', async () => {
    await using vault = await openVault(kind)
    const runtime = await vault.open(child, { codec })
    await runtime.run(child, secret('x'), { id: 'a' })

    await expect(vault.connect().get('a').result()).rejects.toThrow(
      'it was written with a codec (z, aes), and this process has none; pass the same codec to open() or connect()',
    )
  })

  test.each<[string, CodecOption | undefined, string]>([
    ['no codec', undefined, 'it was written with a codec (aes)'],
    ['another key', encryption({ keys: [SECOND] }), 'it is encrypted with the key "first"'],
  ])(
    'a client with %s lists and shows what it cannot read, beside what it can',
    async (_, wrong, why) => {
      await using vault = await openVault(kind)
      const tries = activity('tries', { tag: 'other' }, async () => {
        throw new Error(secret('attempt'))
      })
      const halfway = workflow('halfway', async (_text: string, ctx) => {
        ctx.progress(secret('half'))
        await ctx.run(tries, undefined, { retry: { delay: '1h' } })
      })
      const keys = encryption({ keys: [FIRST] })
      const first = await vault.open([...register, halfway], { codec: keys })
      await vault.open([tries], { codec: keys, tags: { only: ['other'] } })
      await first.run(child, SECRET, { id: 'completed' })
      await first.run(fails, 'x', { id: 'failed' }).catch(() => {})
      await first.start(halfway, SECRET, { id: 'running' })
      await eventually(async () => (await first.admin.tasks({ state: 'delayed' })).items.length)
      const plain = wrong === undefined ? {} : { codec: wrong }
      const client = vault.connect(plain)
      const later = workflow('later', async (text: string) => text)
      await client.start(later, 'x', { id: 'readable' })
      const error = {
        name: 'UnreadableValue',
        message: expect.stringContaining(`codec: cannot read a stored value: ${why}`) as string,
      }

      const { items } = await client.list({}, { order: 'oldest' })
      expect(items).toMatchObject([
        { id: 'completed', status: 'completed', error },
        { id: 'failed', status: 'failed', error },
        { id: 'running', status: 'running', progress: undefined, error },
        { id: 'readable', status: 'scheduled' },
      ])
      expect(items[0]).not.toHaveProperty('output')
      expect(items[3]).not.toHaveProperty('error')
      for (const { id, status } of items.slice(0, 3)) {
        expect(await client.admin.tree(id)).toMatchObject([{ id, error }])
        expect(await client.get(id).info()).toMatchObject({ id, status, error })
      }
      expect(await client.admin.errors()).toMatchObject([{ ...error, ids: ['failed'] }])
      expect((await client.admin.tasks()).items).toMatchObject([{ instanceId: 'running', error }])
    },
  )

  test('a task that this runtime cannot read is left to one that can', async () => {
    await using vault = await openVault(kind)
    const delegates = workflow('delegates', async (text: string, ctx) => ctx.run(elsewhere, text))
    const without = await vault.open([elsewhere], {
      tags: { only: ['other'] },
      codec: encryption({ keys: [SECOND] }),
    })
    const keys = encryption({ keys: [FIRST] })
    const owner = await vault.open([delegates], { codec: keys, tags: 'none' })
    const instance = await owner.start(delegates, SECRET, { id: 'a' })
    await eventually(() =>
      vault.log.lines.some((line) => line.message?.includes('cannot read the input of a task')),
    )
    expect((await instance.info())?.status).toBe('running')
    await without.close()
    await vault.open([elsewhere], { codec: keys, tags: { only: ['other'] } })

    expect(await instance.result({ timeout: '18s' })).toBe(SECRET)
  })

  test('a codec of your own may write the same value in another way each time', async () => {
    await using vault = await openVault(kind)
    let nonce = 0
    const own: Codec = {
      encode: (value) => Buffer.from(`${++nonce} ${JSON.stringify(value ?? null)}`).toString('hex'),
      decode: (data) =>
        JSON.parse(/ (.*)/.exec(Buffer.from(data as string, 'hex').toString())![1]!) as unknown,
    }
    const first = await vault.open(talks, { codec: [own, encryption({ keys: [FIRST] })] })
    await first.start(talks, SECRET, { id: 'a' })
    await eventually(async () => (await first.get('a').info())?.waitingFor.length)
    await first.close()
    const second = await vault.open(talks, { codec: [own, encryption({ keys: [SECOND, FIRST] })] })
    await second.get('a').send(notes, 'go')

    expect(await second.get('a').result()).toEqual([`hello ${SECRET}`, 'go', 'hello go'])
    expect(await vault.dump()).not.toContain(SECRET)
  })

  test('a transform that fails loses nothing: the instance is suspended, and continues later', async () => {
    await using vault = await openVault(kind)
    let isBroken = false
    const flaky = {
      kind: 'transform',
      name: 'flaky',
      encode(bytes: Uint8Array) {
        if (isBroken && Buffer.from(bytes).includes('unlucky')) throw new Error('no key server')
        return Buffer.from(bytes)
      },
      decode: (bytes: Uint8Array) => bytes,
    } as const
    const runtime = await vault.open(talks, { codec: flaky })
    const [lucky, unlucky] = [
      await runtime.start(talks, 'lucky', { id: 'l' }),
      await runtime.start(talks, 'un', { id: 'u' }),
    ]
    await unlucky.send(notes, 'unlucky')
    isBroken = true
    await expect(runtime.start(talks, 'unlucky')).rejects.toThrow('no key server')
    await lucky.send(notes, 'a')
    expect(await lucky.result()).toEqual(['hello lucky', 'a', 'hello a'])

    isBroken = false
    await eventually(async () => {
      const info = await unlucky.info()
      if (info?.status === 'suspended') await unlucky.resume()
      return info?.status === 'completed'
    })
    expect(await unlucky.result()).toEqual(['hello un', 'unlucky', 'hello unlucky'])
  })
})
