/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test, vi } from 'vitest'

import { connect, open, type OpenOptions, type Runtime, workflow } from '../../src/index.ts'
import { transaction } from '../../src/postgres/index.ts'
import {
  type Fault,
  type FaultyPostgres,
  faultyPostgres,
  type FaultyPostgresOptions,
} from '../../src/testing/index.ts'
import { randomFrom } from '../e2e/random.ts'
import { eventually } from '../support/engine.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'
import { cleanUp } from './clean-up.ts'
import { go, names, stoppedLoops, type Voyages, voyages } from './voyages.ts'

// Workflows on a store in which things go wrong: all end once, nothing recorded is done again, and no
// runtime gives up.

// They mostly wait for what is retried later, each on a schema of its own.
vi.setConfig({ testTimeout: 90_000, maxConcurrency: 4 })

interface Scene extends Voyages, AsyncDisposable {
  readonly database: TestSchema
  readonly log: MemoryLog
  readonly store: FaultyPostgres
  readonly holdfast: Runtime
  /** Another process on the same schema, which runs the same voyages. */
  another(options?: Partial<OpenOptions>): Promise<{ store: FaultyPostgres; holdfast: Runtime }>
}

// The tick, which comes three times in a lease, finds what hints did not announce.
const LEASE = '9s'

async function openScene(
  options: Partial<OpenOptions> = {},
  storeOptions: FaultyPostgresOptions = {},
): Promise<Scene> {
  const stack = cleanUp()
  const made = voyages()
  const log = memoryLog()
  const database = stack.use(await testSchema('faults'))
  const { url, schema } = database
  const another = async (given: Partial<OpenOptions> = {}) => {
    const store = stack.use(faultyPostgres({ url, schema, ...storeOptions }))
    const { register } = made
    const holdfast = await open(store, { register, log, lease: LEASE, ...given })
    stack.defer(() => holdfast.close({ drain: 0 }))
    return { store, holdfast }
  }
  const first = await another(options)
  return Object.assign(made, {
    database,
    log,
    another,
    ...first,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  })
}

/**
 * About one in this many statements: batches are few, and chance might pick none. In no order that repeats:
 * a loop of as many statements would be hit at the same place again and again.
 */
function oneIn(count: number): Pick<Fault, 'share' | 'random'> {
  const numbers = randomFrom(count)
  const gap = (): number => count - 2 + Math.floor(numbers() * 5)
  let left = gap()
  const random = (): number => {
    if (--left > 0) return 1
    left = gap()
    return 0
  }
  return { share: 1 / count, random }
}

const listening = ({ holdfast }: { holdfast: Runtime }): Promise<unknown> =>
  eventually(() => holdfast.health().hints.state === 'listening')

describe.concurrent('errors of the server', () => {
  // Serialization, deadlock, cancelled, lock not available, stale plan, prepared statement gone,
  // shut down, connection failure, too many connections, read-only, disk full, I/O.
  test.each(`40001 40P01 57014 55P03 0A000 26000 57P01 08006 53300 25006 53100 58030`.split(' '))(
    '%s, now and then, from any procedure',
    async (sqlState) => {
      await using scene = await openScene()
      const { store, holdfast } = scene
      const ids = names(10)

      const fault = store.inject({ sqlState, ...oneIn(5) })
      await scene.sail(holdfast, ids)
      fault[Symbol.dispose]()

      expect(fault.struck).toBeGreaterThan(2)
      await scene.check(holdfast, ids)
      expect(stoppedLoops(holdfast)).toEqual([])
    },
  )

  test('answers that are lost, now and then, from any procedure', async () => {
    await using scene = await openScene()
    const { store, holdfast } = scene
    const ids = names(20)

    const fault = store.inject({ sqlState: '08006', when: 'after', ...oneIn(4) })
    await scene.sail(holdfast, ids)
    fault[Symbol.dispose]()

    expect(fault.struck).toBeGreaterThan(2)
    await scene.check(holdfast, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })

  test.each([1, 2, 3, 5, 8])('the answer of commit number %d is lost', async (nth) => {
    await using scene = await openScene()
    const { store, holdfast } = scene

    const ids = names(1)

    using fault = store.inject({ of: 'commit_batch', sqlState: '08006', when: 'after', nth })
    await scene.sail(holdfast, ids)

    expect(fault.struck).toBe(1)
    await scene.check(holdfast, ids)
  })

  test('many in a row, while nothing can be committed', async () => {
    await using scene = await openScene()
    const { store, holdfast } = scene
    const ids = names(3)

    using fault = store.inject({ of: ['commit_batch', 'tick'], sqlState: '53300', times: 6 })
    await scene.sail(holdfast, ids)

    expect(fault.struck).toBe(6)
    await scene.check(holdfast, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })

  test('errors and lost answers for a client in another process', async () => {
    await using scene = await openScene()
    const { holdfast } = scene
    const { url, schema } = scene.database
    await using store = faultyPostgres({ url, schema })
    await using client = connect(store, { log: memoryLog() })
    const ids = names(6)

    using before = store.inject({ sqlState: '57P01', ...oneIn(5) })
    using after = store.inject({ sqlState: '57P01', when: 'after', ...oneIn(6) })
    await scene.sail(client, ids)

    expect(before.struck).toBeGreaterThan(2)
    expect(after.struck).toBeGreaterThan(2)
    await scene.check(holdfast, ids)
  })
})

describe.concurrent('transactions of activities', () => {
  test.each<[string, Fault]>([
    ['cannot begin', { of: 'begin_transaction', sqlState: '40001', times: 1 }],
    ['deadlock', { of: 'insert', sqlState: '40P01', times: 1 }],
    ['cannot be recorded', { of: 'finish_transaction', sqlState: '53300', times: 1 }],
    ['cannot be committed', { of: 'commit', sqlState: '40001', times: 1 }],
    [
      'lose the answer to their commit',
      { of: 'commit', sqlState: '08006', when: 'after', times: 1 },
    ],
  ])('that %s are committed once', async (_, how) => {
    await using database = await testSchema('faults')
    const { url, schema } = database
    const table = `"${schema}".bookings`
    const book = transaction('book', { retry: { backoff: 'none' } }, async (n: number, { tx }) => {
      await tx.query(`insert into ${table} values ($1)`, [n])
      return n
    })
    const trip = workflow('trip', async (n: number, ctx) => ctx.run(book, n))
    await using store = faultyPostgres({ url, schema })
    await using holdfast = await open(store, { register: trip, log: memoryLog() })
    await database.query('create table bookings (n integer)')

    using fault = store.inject(how)
    const results = await Promise.all([1, 2, 3].map((n) => holdfast.run(trip, n)))

    expect(results).toEqual([1, 2, 3])
    expect(fault.struck).toBe(1)
    expect(await database.query('select n from bookings order by n')).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ])
  })
})

test.concurrent('statements that take their time', async () => {
  await using scene = await openScene()
  const { store, holdfast } = scene
  const ids = names(10)

  using fault = store.inject({ delay: '120ms', ...oneIn(3) })
  await scene.sail(holdfast, ids)

  expect(fault.struck).toBeGreaterThan(2)
  await scene.check(holdfast, ids)
  expect(stoppedLoops(holdfast)).toEqual([])
})

describe.concurrent('hints', () => {
  const SOON = { lease: '3s' } as const

  test('without any, the work of a client elsewhere is still done', async () => {
    await using scene = await openScene(SOON, { notify: 'off' })
    const { holdfast } = scene
    const { url, schema } = scene.database
    await using store = faultyPostgres({ url, schema, notify: 'off' })
    await using client = connect(store, { log: memoryLog() })
    const ids = names(5)

    await scene.sail(client, ids)

    expect(holdfast.health().hints).toEqual({ state: 'off', interruptions: 0 })
    await scene.check(client, ids)
  })

  test('that are lost silently cost time, and nothing else', async () => {
    await using scene = await openScene(SOON)
    const { store, holdfast } = scene
    const { url, schema } = scene.database
    await using far = faultyPostgres({ url, schema })
    await using client = connect(far, { log: memoryLog() })
    await listening(scene)
    const ids = names(5)

    using lost = store.loseHints()
    await scene.sail(client, ids)

    expect(lost.struck).toBeGreaterThan(0)
    expect(holdfast.health().hints.state).toBe('listening')
    await scene.check(client, ids)
  })

  test('a listen connection that is terminated repeatedly is reopened', async () => {
    await using scene = await openScene()
    const { store, holdfast } = scene
    const ids = names(5)
    await listening(scene)

    const sailed = scene.sail(holdfast, ids)
    for (let i = 0; i < 3; i++) {
      await eventually(async () => (await store.reconnect()) === 1)
      await eventually(() => holdfast.health().hints.interruptions > i)
      await listening(scene)
    }
    await sailed

    expect(holdfast.health().hints).toEqual({ state: 'listening', interruptions: 3 })
    await scene.check(holdfast, ids)
  })

  test('a listening loop that throws is started again, and listens again', async () => {
    await using scene = await openScene()
    const { store, holdfast } = scene
    const { url, schema } = scene.database
    await using far = faultyPostgres({ url, schema })
    await using client = connect(far, { log: memoryLog() })
    await listening(scene)
    const ids = names(2)

    const panic = (): Error => new TypeError('cannot read properties of undefined')
    using fault = store.inject({ of: 'listen', error: panic, times: 3 })
    await store.reconnect()
    await fault.untilStruck(3)
    await listening(scene)
    await scene.sail(client, ids)

    expect(holdfast.health().hints.state).toBe('listening')
    await scene.check(client, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })

  test.each<[string, Omit<Fault, 'of'>]>([
    ['is delayed', { delay: '700ms' }],
    ['fails, again and again', { sqlState: '57014', times: 5 }],
    ['loses its answer', { sqlState: '08006', when: 'after', times: 5 }],
    ['throws', { error: () => new TypeError('cannot read properties of undefined'), times: 5 }],
  ])('the poll that finds what was not announced %s', async (_, how) => {
    await using scene = await openScene(SOON)
    const { store, holdfast } = scene
    const { url, schema } = scene.database
    await using far = faultyPostgres({ url, schema, notify: 'off' })
    await using client = connect(far, { log: memoryLog() })
    await listening(scene)
    const ids = names(3)

    // No hint is sent, so that all depends on it.
    using fault = store.inject({ of: 'tick', ...how })
    await scene.sail(client, ids)
    await fault.untilStruck()

    await scene.check(client, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })
})

test.concurrent('a runtime that cannot renew its lease is taken over, and what it recorded is not done again', async () => {
  await using scene = await openScene({ lease: '2s' })
  const { store, holdfast, log } = scene
  const [id, next] = names(2) as [string, string]
  const instance = await scene.embark(holdfast, id)
  await eventually(async () => (await instance.info())!.waitingFor.join().includes('go'))

  const silent = store.inject({ of: ['renew_lease', 'tick', 'commit_batch'], sqlState: '57P01' })
  const other = await scene.another({ lease: '6s' })
  const same = other.holdfast.get(id)
  await same.send(go, 'go')
  await same.result({ timeout: '60s' })
  expect(silent.struck).toBeGreaterThan(1)
  await scene.check(other.holdfast, [id])
  silent[Symbol.dispose]()

  // It notices, and continues under another number.
  await eventually(() => log.at('error').some((line) => line.includes('declared dead')))
  expect(stoppedLoops(holdfast)).toEqual([])
  await scene.sail(holdfast, [next])
  await scene.check(holdfast, [id, next])
})

describe('invalid arguments', () => {
  const store = faultyPostgres({ url: 'postgres://localhost/none' })
  test.each<[Fault, string]>([
    [{ of: 'comit_batch', delay: 1 }, 'did you mean "commit_batch"?'],
    [{ of: 'tick' }, 'fault: needs delay, sqlState or error'],
    [{ sqlState: '4001' }, `sqlState must be five digits or capital letters, such as '40001', got`],
    [{ sqlState: '40001', share: 2 }, 'share must be a number, from 0 to 1, got 2'],
    [{ delay: 1, nht: 1 } as Fault, 'unknown option "nht", did you mean "nth"?'],
    [{ sqlState: '40001', error: () => new Error('x') }, 'give sqlState or error, not both'],
  ])('%o is refused', (fault, words) => {
    expect(() => store.inject(fault)).toThrow(words)
  })

  test('a pool of the caller is refused', () => {
    const options = { pool: {} } as FaultyPostgresOptions

    expect(() => faultyPostgres(options)).toThrow('faultyPostgres: pool cannot be given here')
    expect(() => faultyPostgres({ shema: 'x' } as object)).toThrow('did you mean "schema"?')
  })
})
