import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import {
  activity,
  type Client,
  connect,
  type Duration,
  open,
  type OpenOptions,
  request,
  type Runtime,
  type Store,
  workflow,
} from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { keepConnections, letGo } from '../support/reused-connections.ts'
import { tempFile } from '../support/sqlite.ts'
import { memoryLog } from '../support/workers.ts'
import { mail, reader } from './reader.ts'

// Runtimes and clients that represent processes of their own: each has its own connections. They
// tick every ten seconds, so what happens well before that was caused by a hint. Without hints they
// tick every 0.7 seconds, and everything still happens.

const SOON_MS = 4_000
const LEASE = '30s'
const WITHOUT_HINTS = { soonMs: 15_000, lease: '2s' } as const
const WITH_HINTS = { soonMs: SOON_MS, lease: LEASE } as const
const GPU = { tags: { only: ['gpu'] } } as const

const question = request<number, number>('question')

const echo = workflow('echo', async (text: string) => text)

type Kind = 'postgres' | 'file' | 'postgres without hints'

/** Where state is kept: one for all tests of a store. */
interface Place extends AsyncDisposable {
  /** Another way in, as another process would have it. */
  store(): Store
}

async function openPlace(kind: Kind): Promise<Place> {
  if (kind !== 'file') {
    const database = await testSchema('notifier')
    const { schema } = database
    const url = keepConnections(database.url)
    const notify = kind === 'postgres' ? 'auto' : 'off'
    return {
      store: () => postgres({ url, schema, notify }),
      async [Symbol.asyncDispose]() {
        await letGo(url)
        await database[Symbol.asyncDispose]()
      },
    }
  }
  const file = tempFile()
  return {
    store: () => sqlite({ path: file.path, durability: 'os' }),
    [Symbol.asyncDispose]: async () => file[Symbol.dispose](),
  }
}

interface Scene extends AsyncDisposable {
  open(register: OpenOptions['register'], options?: Partial<OpenOptions>): Promise<Runtime>
  connect(): Client
  /** Waits until this many listeners receive hints. */
  listening(count: number): Promise<void>
}

function openScene(store: () => Store, lease: Duration = LEASE): Scene {
  const log = memoryLog()
  const opened: (() => Promise<void>)[] = []
  return {
    async open(register, options = {}) {
      const runtime = await open(store(), { register, log, lease, ...options })
      opened.push(() => runtime.close({ drain: 0 }))
      await eventually(() => runtime.health().hints.state !== 'connecting')
      return runtime
    },
    connect() {
      const client = connect(store(), { log })
      opened.push(() => client.close())
      return client
    },
    async listening(count) {
      await eventually(
        () => log.at('debug').filter((line) => line === 'receiving notifications').length >= count,
      )
    },
    async [Symbol.asyncDispose]() {
      for (const close of opened.toReversed()) await close()
    },
  }
}

/** How long something takes. */
async function timed(run: () => Promise<unknown>): Promise<number> {
  const begunMs = performance.now()
  await run()
  return performance.now() - begunMs
}

const KINDS: readonly Kind[] = ['postgres', 'file', 'postgres without hints']

// The stores at once, and on each one test after the other, which share what is in it.
describe.concurrent.each(KINDS)('in another process, on %s', (kind) => {
  const hinted = kind !== 'postgres without hints'
  const { soonMs, lease } = hinted ? WITH_HINTS : WITHOUT_HINTS
  let place: Place
  beforeAll(async () => {
    place = await openPlace(kind)
  })
  afterAll(() => place[Symbol.asyncDispose]())
  const openHere = (): Scene => openScene(() => place.store(), lease)

  test.sequential('a message from a client wakes the runtime that has the instance', async () => {
    await using scene = openHere()
    const runtime = await scene.open(reader)
    const instance = await runtime.start(reader)
    const client = scene.connect()
    await client.get(instance.id).info()

    const ms = await timed(async () => {
      await client.get(instance.id).send(mail, 'hello')
      expect(await instance.result()).toBe('hello')
    })

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a message from a workflow reaches an instance of another runtime', async () => {
    const sender = workflow('sender', async (id: string, ctx) => ctx.get(id).send(mail, 'hello'))
    await using scene = openHere()
    const [a, b] = [await scene.open(reader), await scene.open(sender)]
    const instance = await a.start(reader)

    const ms = await timed(async () => {
      await b.run(sender, instance.id)
      expect(await instance.result()).toBe('hello')
    })

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a start by a client is claimed by one of the runtimes that can run it', async () => {
    const ran: string[] = []
    const here = (name: string) => workflow('where', async () => void ran.push(name))
    await using scene = openHere()
    await scene.open(here('a'))
    await scene.open(here('b'))
    await scene.open(echo)
    const client = scene.connect()

    const ms = await timed(() => client.run(here('nowhere')))

    expect(ms).toBeLessThan(soonMs)
    expect(ran).toHaveLength(1)
  })

  test.sequential('an instance that a runtime cannot run is claimed by one that can', async () => {
    await using scene = openHere()
    const [a] = [await scene.open(reader), await scene.open(echo)]

    const ms = await timed(async () => expect(await a.run(echo, 'hello')).toBe('hello'))

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a delayed start starts at its time, not with the next tick', async () => {
    await using scene = openHere()
    await scene.open(echo)
    const client = scene.connect()

    const ms = await timed(() => client.run(echo, 'hello', { delay: 1_200 }))

    expect(ms).toBeGreaterThan(1_150)
    expect(ms).toBeLessThan(1_200 + soonMs)
  })

  // Those that wait for a tick may start together.
  test.runIf(hinted).sequential('several delayed starts each start at their time', async () => {
    await using scene = openHere()
    await scene.open(echo)
    const client = scene.connect()
    const begunMs = performance.now()

    const tookMs = await Promise.all(
      [900, 300, 600].map(async (delay) => {
        await client.run(echo, 'hello', { delay })
        return performance.now() - begunMs
      }),
    )

    const [last, first, second] = tookMs as [number, number, number]
    expect(first).toBeLessThan(second)
    expect(second).toBeLessThan(last)
    expect(last).toBeLessThan(900 + soonMs)
  })

  test.sequential('a caller that waits for a result learns of the end', async () => {
    await using scene = openHere()
    const runtime = await scene.open(reader)
    const instance = await runtime.start(reader)
    const client = scene.connect()
    const result = client.get(instance.id).result()
    if (kind === 'postgres') await scene.listening(2)

    const ms = await timed(async () => {
      await instance.send(mail, 'hello')
      await result
    })

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a request is answered', async () => {
    const answering = workflow('answering', async (_: undefined, ctx) => {
      for (;;) {
        const asked = await ctx.receive(question)
        asked.reply(asked.input * 2)
      }
    })
    await using scene = openHere()
    const runtime = await scene.open(answering)
    const instance = await runtime.start(answering)
    const client = scene.connect()
    expect(await client.get(instance.id).request(question, 1)).toBe(2)
    if (kind === 'postgres') await scene.listening(2)

    const ms = await timed(() => client.get(instance.id).request(question, 4))

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a child of another runtime starts, and its result arrives', async () => {
    const parent = workflow('parent', async (_: undefined, ctx) => ctx.run(echo, 'child'))
    await using scene = openHere()
    const [a] = [await scene.open(parent), await scene.open(echo)]

    const ms = await timed(async () => expect(await a.run(parent)).toBe('child'))

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a task is run, and its result comes back', async () => {
    const render = activity('render', { tag: 'gpu' }, async (name: string) => `${name}.png`)
    const film = workflow('film', async (name: string, ctx) => ctx.run(render, name))
    await using scene = openHere()
    const [a] = [await scene.open(film), await scene.open([film, render], GPU)]

    const ms = await timed(async () => expect(await a.run(film, 'kim')).toBe('kim.png'))

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a task is retried at its time, even though its first runtime has left', async () => {
    const tried: string[] = []
    const retry = { delay: 1_000, jitter: false }
    const flaky = (name: string) =>
      activity('flaky', { tag: 'gpu', retry }, async () => {
        tried.push(name)
        if (tried.length === 1) throw new Error('not yet')
      })
    const persistent = workflow('persistent', async (_: undefined, ctx) => ctx.run(flaky('')))
    await using scene = openHere()
    const owner = await scene.open(persistent)
    const first = await scene.open(flaky('first'), GPU)
    const instance = await owner.start(persistent)
    await eventually(() => tried.length === 1)
    await scene.open(flaky('second'), GPU)

    const ms = await timed(async () => {
      await first.close()
      await instance.result()
    })

    expect(tried).toEqual(['first', 'second'])
    expect(ms).toBeLessThan(1_000 + soonMs)
  })

  test.sequential('a task that is no longer needed is stopped', async () => {
    const begun = deferred()
    const stopped = deferred()
    const endless = activity('endless', { tag: 'gpu' }, async (_: undefined, ctx) => {
      ctx.signal.addEventListener('abort', () => stopped.resolve(), { once: true })
      begun.resolve()
      await stopped.promise
    })
    const waiting = workflow('waiting', async (_: undefined, ctx) => ctx.run(endless))
    await using scene = openHere()
    const [a] = [await scene.open(waiting), await scene.open([waiting, endless], GPU)]
    const instance = await a.start(waiting)
    await begun.promise

    const ms = await timed(async () => {
      await instance.cancel()
      await stopped.promise
    })

    expect(ms).toBeLessThan(soonMs)
  })

  // On SQLite the owner gets no hint; it finds out when it commits.
  const verbs = kind !== 'file' ? (['suspend', 'terminate'] as const) : []
  test.sequential.each(verbs)('an instance that is to %s stops', async (verb) => {
    const begun = deferred()
    const stopped = deferred()
    const busy = workflow('busy', async (_: undefined, ctx) =>
      ctx.step('endless', async ({ signal }) => {
        signal.addEventListener('abort', () => stopped.resolve(), { once: true })
        begun.resolve()
        await stopped.promise
      }),
    )
    await using scene = openHere()
    const instance = await (await scene.open(busy)).start(busy)
    const client = scene.connect()
    await begun.promise

    const ms = await timed(async () => {
      await client.get(instance.id)[verb]()
      await stopped.promise
    })

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('a suspended instance continues when a client resumes it', async () => {
    await using scene = openHere()
    const runtime = await scene.open(reader)
    const instance = await runtime.start(reader)
    const client = scene.connect()
    const same = client.get(instance.id)
    await same.suspend()
    await same.send(mail, 'hello')

    const ms = await timed(async () => {
      await same.resume()
      expect(await instance.result()).toBe('hello')
    })

    expect(ms).toBeLessThan(soonMs)
  })

  test.sequential('instances that a closing runtime releases continue in another one', async () => {
    const ran: string[] = []
    const here = (name: string) =>
      workflow('twice', async (_: undefined, ctx) => {
        await ctx.step('first', () => void ran.push(name))
        await ctx.sleep(1_000)
        await ctx.step('second', () => void ran.push(name))
      })
    await using scene = openHere()
    const [a, b] = [here('a'), here('b')]
    const first = await scene.open(a)
    const second = await scene.open(b)
    const instance = await first.start(a)
    await eventually(() => ran.length === 1)

    const ms = await timed(async () => {
      await first.close()
      await second.get(instance.id).result()
    })

    expect(ran).toEqual(['a', 'b'])
    expect(ms).toBeLessThan(1_000 + soonMs)
  })

  test.sequential('work that does not fit in one runtime goes to another that gets the hint', async () => {
    const running: string[] = []
    const over = deferred()
    const here = (name: string) =>
      workflow('room', async (_: undefined, ctx) =>
        ctx.step('long', async () => {
          running.push(name)
          await over.promise
        }),
      )
    await using scene = openHere()
    const options = { concurrency: { instances: 1 } }
    await scene.open(here('a'), options)
    await scene.open(here('b'), options)
    const client = scene.connect()

    const ms = await timed(async () => {
      await client.start(here('nowhere'))
      await eventually(() => running.length === 1)
      // Whichever runtime is chosen, one of the two that follow meets a runtime without room.
      await client.start(here('nowhere'))
      await eventually(() => running.length === 2)
    })
    over.resolve()

    expect(running.toSorted()).toEqual(['a', 'b'])
    expect(ms).toBeLessThan(2 * soonMs)
  })
})

test.each(['client', 'runtime'] as const)('a %s that waits is notified by name', async (who) => {
  await using database = await testSchema('notifier')
  const { url, schema } = database
  await using scene = openScene(() => postgres({ url, schema }))
  const runtime = await scene.open(reader)
  const [waitedFor, other] = [await runtime.start(reader), await runtime.start(reader)]
  const connection = await database.connect()
  const received: { channel: string; hint: Record<string, unknown> }[] = []
  connection.on('notification', ({ channel: from, payload }) => {
    received.push({ channel: from, hint: JSON.parse(payload!) as Record<string, unknown> })
  })
  const listen = async (to: unknown): Promise<void> => {
    const [row] = await database.query<{ name: string }>('select hint_channel($1) as name', [to])
    await connection.query(`listen "${row!.name}"`)
  }
  const of = (kind: string): Record<string, unknown>[] =>
    received.flatMap(({ hint }) => (hint['kind'] === kind ? [hint] : []))
  await listen('all')

  const waiter = who === 'client' ? scene.connect() : await scene.open(echo)
  const result = waiter.get(waitedFor.id).result()
  const [waiting] = await eventually(() => of('waiting'))
  await listen(waiting!['to'])
  await other.send(mail, 'hello')
  await other.result()
  await waitedFor.send(mail, 'hello')
  await result

  const [changed] = await eventually(() => of('changed'))
  expect(changed!['iids']).toEqual(waiting!['iids'])
  expect(of('changed')).toHaveLength(1)
})

test('after a cut, missed work is found, and hints arrive again', async () => {
  await using database = await testSchema('notifier')
  const { url, schema } = database
  await using scene = openScene(() => postgres({ url, schema }))
  const runtime = await scene.open(reader)
  const instance = await runtime.start(reader)
  const client = scene.connect()
  await client.get(instance.id).info()

  const ms = await timed(async () => {
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
      where query like 'listen%' and query like '%' || left(hint_channel(''), 25) || '%'`,
    )
    await client.get(instance.id).send(mail, 'hello')
    await instance.result()
  })

  expect(ms).toBeLessThan(2 * SOON_MS)
  await eventually(() => runtime.health().hints.state === 'listening')
  expect(runtime.health().hints).toEqual({ state: 'listening', interruptions: 1 })
})

test('without notifications everything happens, with the tick', async () => {
  await using database = await testSchema('notifier')
  const { url, schema } = database
  await using scene = openScene(() => postgres({ url, schema, notify: 'off' }))
  const runtime = await scene.open(reader, { lease: '3s' })
  const instance = await runtime.start(reader)
  const client = scene.connect()

  await client.get(instance.id).send(mail, 'hello')

  expect(await client.get(instance.id).result()).toBe('hello')
  expect(runtime.health().hints).toEqual({ state: 'off', interruptions: 0 })
  expect(
    await database.query(
      `select 1 from pg_stat_activity where query like 'listen%' and query like '%' || left(hint_channel(''), 25) || '%'`,
    ),
  ).toEqual([])
})

test('a runtime reports how its loops and its notifier are doing', async () => {
  await using database = await testSchema('notifier')
  const { url, schema } = database
  await using scene = openScene(() => postgres({ url, schema }))
  const runtime = await scene.open(reader)

  const { workers, hints } = runtime.health()

  expect(workers.map(({ name }) => name)).toContain('ticks')
  expect(hints).toEqual({ state: 'listening', interruptions: 0 })
})
