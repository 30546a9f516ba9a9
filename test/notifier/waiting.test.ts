import { describe, expect, test } from 'vitest'

import {
  connect,
  type Instance,
  open,
  type Runtime,
  TimeoutError,
  workflow,
} from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { postgres } from '../../src/postgres/index.ts'
import type { Hint, HintStore } from '../../src/store/hints.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { engineOn } from '../support/race.ts'
import { withMethods } from '../support/wrapped-store.ts'
import { storeWithHints } from './listeners.ts'
import { mail, reader } from './reader.ts'
import { LISTENING } from './scene.ts'

// Runtimes and clients that wait, each with connections of its own. They tick every ten seconds:
// what is there well before that was hinted at.

const SOON_MS = 4_000
const QUIET = { log: silentLog }

const echo = workflow('echo', async (text: string) => text)

const oneAtATime = workflow('one-at-a-time', { limit: { concurrency: 1 } }, async (_, ctx) =>
  ctx.receive(mail),
)

/** Notes the names of calls that look for work. */
function noting(inner: WorkflowStore, calls: string[]): Partial<WorkflowStore> {
  const noted =
    <Args extends unknown[], T>(name: string, call: (...args: Args) => T) =>
    (...args: Args): T => {
      calls.push(name)
      return call(...args)
    }
  const { schedules } = inner
  return {
    tick: noted('tick', (request) => inner.tick(request)),
    claim: noted('claim', (request) => inner.claim(request)),
    claimTasks: noted('claimTasks', (request) => inner.claimTasks(request)),
    load: noted('load', (wanted) => inner.load(wanted)),
    schedules: {
      ...schedules,
      due: noted('schedules.due', (limit, names) => schedules.due(limit, names)),
    },
  }
}

/** What is called during three ticks, once it is quiet. */
async function callsBetweenTicks(calls: readonly string[]): Promise<ReadonlySet<string>> {
  const ticks = (): number => calls.filter((name) => name === 'tick').length
  // The first ones belong to its beginning.
  const quiet = ticks() + 3
  await eventually(() => ticks() >= quiet)
  const begun = calls.length
  await eventually(() => ticks() >= quiet + 3)
  return new Set(calls.slice(begun))
}

/** A runtime on a store whose calls are watched, with hints. */
async function openWatched(
  database: TestSchema,
  watch: (inner: WorkflowStore) => Partial<WorkflowStore>,
  options: Parameters<typeof engineOn>[2] = {},
  register: Parameters<typeof engineOn>[1] = [echo, reader],
): Promise<Runtime> {
  const inner = await storeWithHints({ url: database.url }, database.schema)
  const watched = withMethods(inner, { hints: inner.hints, ...watch(inner) })
  const runtime = await engineOn(watched, register, options)
  await eventually(() => runtime.health().hints.state === 'listening')
  return runtime
}

/** The hints of a store, with a callback for each that arrives. */
function observedHints({ hints }: WorkflowStore, received: (hint: Hint) => void): HintStore {
  return {
    announce: (announcement, origin) => hints!.announce(announcement, origin),
    listen: (listener) =>
      hints!.listen({
        clock: listener.clock,
        log: listener.log,
        interest: () => listener.interest(),
        poll: () => listener.poll(),
        receive(hint) {
          listener.receive(hint)
          received(hint)
        },
      }),
  }
}

/** Notifies a runtime as another process would, of instances that there are none of. */
async function wakeInVain(database: TestSchema): Promise<void> {
  await database.query(
    `select pg_notify(hint_channel('r' || runtime), '{"kind":"work","iids":[123456],"at":0}')
    from runtimes where state = 1`,
  )
}

describe('a runtime that waits', () => {
  test('sends no statement between two ticks [test_dispatcher_uses_long_polling]', async () => {
    await using database = await testSchema('waiting')
    const calls: string[] = []
    await using _ = await openWatched(database, (inner) => noting(inner, calls), { lease: '3s' })

    expect(await callsBetweenTicks(calls)).toEqual(new Set(['tick']))
  })

  test('sends none either while schedules are due later, and starts wait for a limit', async () => {
    await using database = await testSchema('waiting')
    const calls: string[] = []
    await using runtime = await openWatched(
      database,
      (inner) => noting(inner, calls),
      { lease: '3s' },
      [echo, reader, oneAtATime],
    )
    for (let n = 0; n < 20; n++) {
      await runtime.schedule(`yearly-${n}`, { cron: '0 0 29 2 *' }, echo, 'hello')
      await runtime.start(oneAtATime)
    }
    await eventually(async () => (await runtime.admin.count({ status: 'running' })) === 1)

    expect(await callsBetweenTicks(calls)).toEqual(new Set(['tick']))
    expect(await runtime.admin.count({ status: 'scheduled' })).toBe(19)
  })

  test('claims what a hint names, and ticks no more often for it', async () => {
    await using database = await testSchema('waiting')
    let [ticks, claims] = [0, 0]
    await using _ = await openWatched(database, (inner) => ({
      async tick(request) {
        ticks++
        return inner.tick(request)
      },
      async claim(request) {
        const answer = await inner.claim(request)
        claims += answer.claims.length
        return answer
      },
    }))
    const { url, schema } = database
    await using client = connect(postgres({ url, schema }), QUIET)
    const [ticksBefore, begunMs] = [ticks, performance.now()]

    for (let n = 0; n < 30; n++) await client.run(echo, 'hello')

    const ofTime = Math.ceil((performance.now() - begunMs) / 10_000)
    expect(claims).toBeGreaterThanOrEqual(30)
    // One more for the client that has just come.
    expect(ticks - ticksBefore).toBeLessThanOrEqual(ofTime + 1)
  })

  test('finds instances started between its look and its wait', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    await using client = connect(postgres({ url, schema }), QUIET)
    let looks = 0
    const arrived = deferred()
    const started = deferred<Instance<string>>()
    await using _ = await openWatched(database, (inner) => ({
      hints: observedHints(inner, ({ kind }) => {
        if (kind === 'work' && looks === 1) arrived.resolve()
      }),
      async claim(request) {
        const answer = await inner.claim(request)
        // It has found nothing, and has not got that answer yet.
        if (++looks === 1) {
          const instance = await client.start(echo, 'hello')
          await arrived.promise
          started.resolve(instance)
        }
        return answer
      },
    }))
    await client.get('none').info()

    await wakeInVain(database)
    const instance = await started.promise
    const begunMs = performance.now()
    expect(await instance.result()).toBe('hello')

    expect(performance.now() - begunMs).toBeLessThan(SOON_MS)
    expect(looks).toBeGreaterThan(1)
  })

  test('claims all of a burst, though one wake-up may cover many hints [test_long_poll_returns_early_on_work]', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    await using runtime = await open(postgres({ url, schema }), { register: echo, ...QUIET })
    await eventually(() => runtime.health().hints.state === 'listening')
    await using client = connect(postgres({ url, schema }), QUIET)
    const words = Array.from({ length: 100 }, (_, i) => `word ${i}`)
    const begunMs = performance.now()

    const answers = await Promise.all(words.map((word) => client.run(echo, word)))

    expect(answers).toEqual(words)
    expect(performance.now() - begunMs).toBeLessThan(2 * SOON_MS)
  })

  test('claims an instance in one of two runtimes, and the other one keeps waiting', async () => {
    await using database = await testSchema('waiting')
    const claims: number[][] = [[], []]
    const openCounted = (own: number[]): Promise<Runtime> =>
      openWatched(database, (inner) => ({
        async claim(request) {
          const answer = await inner.claim(request)
          own.push(answer.claims.length)
          return answer
        },
      }))
    await using first = await openCounted(claims[0]!)
    await using second = await openCounted(claims[1]!)
    const { url, schema } = database
    await using client = connect(postgres({ url, schema }), QUIET)
    // The first claims belong to their beginning.
    await Promise.all([first.idle(), second.idle()])
    for (const own of claims) own.length = 0

    expect(await client.run(echo, 'hello')).toBe('hello')

    const brought = claims.flat()
    expect(brought.reduce((sum, count) => sum + count, 0)).toBe(1)
    // A process that got no hint did not even ask.
    expect(claims.filter((own) => own.length === 0)).toHaveLength(1)
    for (const runtime of [first, second]) {
      expect(runtime.health().hints.state).toBe('listening')
    }
  })

  test.each(['listening', 'connecting'] as const)(
    'can be stopped while it is %s',
    async (state) => {
      await using database = await testSchema('waiting')
      const { url, schema } = database
      // No server listens at the second address.
      const listenUrl = state === 'listening' ? url : 'postgres://nobody@127.0.0.1:1/none'
      const store = postgres({ url, schema, listenUrl })
      const runtime = await open(store, { register: echo, ...QUIET })
      await eventually(() => runtime.health().hints.state === state)
      const begunMs = performance.now()

      await runtime.close()

      expect(performance.now() - begunMs).toBeLessThan(SOON_MS)
    },
  )

  test('polls again and again while it cannot listen, and waits for no tick', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    const listenUrl = 'postgres://nobody@127.0.0.1:1/none'
    const store = postgres({ url, schema, listenUrl })
    await using runtime = await open(store, { register: echo, ...QUIET })
    await using client = connect(postgres({ url, schema, notify: 'off' }), QUIET)
    const begunMs = performance.now()

    expect(await client.run(echo, 'hello')).toBe('hello')

    expect(performance.now() - begunMs).toBeLessThan(SOON_MS)
    expect(runtime.health().hints).toMatchObject({
      state: 'connecting',
      lastError: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('a client that waits', () => {
  test('waits as long as requested when nothing arrives, and not longer [test_long_poll_waits_for_timeout]', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    await using runtime = await open(postgres({ url, schema }), { register: reader, ...QUIET })
    const { id } = await runtime.start(reader)
    await using client = connect(postgres({ url, schema }), QUIET)
    await client.get(id).info()
    const begunMs = performance.now()

    const error: unknown = await client
      .get(id)
      .result({ timeout: 300 })
      .catch((reason: unknown) => reason)

    const tookMs = performance.now() - begunMs
    expect(error).toBeInstanceOf(TimeoutError)
    expect(tookMs).toBeGreaterThan(295)
    expect(tookMs).toBeLessThan(300 + SOON_MS)
  })

  test('learns of the end while its own connection is cut and reopened', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    await using runtime = await open(postgres({ url, schema }), { register: reader, ...QUIET })
    const instance = await runtime.start(reader)
    await using client = connect(postgres({ url, schema }), QUIET)
    const result = client.get(reader, instance.id).result()
    await eventually(async () => (await listening(database)).length === 2)
    const begunMs = performance.now()

    for (const { pid } of await listening(database)) {
      await database.query('select pg_terminate_backend($1)', [pid])
    }
    await instance.send(mail, 'hello')

    expect(await result).toBe('hello')
    expect(performance.now() - begunMs).toBeLessThan(2 * SOON_MS)
  })

  test('gives up when it is closed', async () => {
    await using database = await testSchema('waiting')
    const { url, schema } = database
    await using runtime = await open(postgres({ url, schema }), { register: reader, ...QUIET })
    const { id } = await runtime.start(reader)
    const client = connect(postgres({ url, schema }), QUIET)
    const result = client
      .get(id)
      .result()
      .catch((error: unknown) => error)
    await eventually(async () => (await listening(database)).length === 2)

    await client.close()

    expect(await result).toMatchObject({ name: 'StoreError', code: 'closed' })
  })
})

function listening(database: TestSchema): Promise<{ pid: number }[]> {
  return database.query(`select pid ${LISTENING}`)
}
