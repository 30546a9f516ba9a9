import { describe } from 'vitest'
import { type Client, connect, open, type OpenOptions, type Runtime } from '../../src/index.ts'
import type { CommitBatch } from '../../src/store/commits.ts'
import type { Iid } from '../../src/store/instances.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, eventually } from './engine.ts'
import { testSchema, type TestSchema } from './postgres.ts'
import { type OpenedStore, openPostgres, openSqlite } from './store-under-test.ts'
import { memoryLog } from './workers.ts'
import { withMethods } from './wrapped-store.ts'

// What the scripted races share. A race is one script that is run twice: with our behaviour, and
// with the alternative that `docs/internals/races.md` rejects, which must show the failure.

/** Runs a suite on both stores. Its tests mostly wait, each with a store of its own: all at once. */
export function describeRace(name: string, suite: (openStore: () => Promise<OpenedStore>) => void) {
  describe.concurrent(`${name}, on SQLite`, () => {
    suite(() => openSqlite())
  })
  describe.concurrent(`${name}, on PostgreSQL`, () => {
    suite(() => openPostgres({ prefix: 'race' }))
  })
}

/** A runtime of the engine on a store that is already open; it closes without waiting. */
export async function engineOn(
  store: WorkflowStore,
  register: OpenOptions['register'],
  options: Partial<OpenOptions> = {},
): Promise<Runtime> {
  return open(handleOf(store), { register, log: memoryLog(), ...options })
}

/** A client on a store that is already open. */
export function connectTo(store: WorkflowStore): Client {
  return connect(handleOf(store), { log: memoryLog() })
}

function handleOf(store: WorkflowStore): StoreHandle {
  return { kind: store.kind, [OPEN_WORKFLOW_STORE]: () => store }
}

/** A store whose ticks do not park unread mail. */
export function unparkingTicks(inner: WorkflowStore, under: OpenedStore): WorkflowStore {
  return withMethods(inner, {
    async tick(request) {
      const answer = await inner.tick(request)
      await under.sql('update inbox set parked = false')
      return answer
    },
  })
}

/** The position of an instance, from its own row. */
export interface RunRow {
  readonly owner: number | null
  readonly epoch: number
  readonly wakeAt: number | null
}

/** Reads it past the port; `undefined` when the instance has ended. */
export async function runRowOf(under: OpenedStore, iid: Iid): Promise<RunRow | undefined> {
  const [row] = await under.sql<{ owner: number | null; epoch: number; wake_at: unknown }>(
    'select owner, epoch, wake_at from runs where iid = ?',
    iid,
  )
  if (row === undefined) return undefined
  const wakeAt = row.wake_at === null ? null : Number(row.wake_at)
  return { owner: row.owner, epoch: row.epoch, wakeAt }
}

/** Inserts a turn as a fence of nothing but the key would have it: a duplicate is ignored. */
export async function appendByKeyAlone(
  under: OpenedStore,
  iid: Iid,
  turn: number,
  epoch = 1,
): Promise<boolean> {
  const rows = await under.sql(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values (?, 1, ?, ?, 0, ?, 1, 'by key alone')
    on conflict do nothing
    returning iid`,
    iid,
    turn,
    epoch,
    turn,
  )
  return rows.length > 0
}

/** Whether the turns are 1, 2, 3 … without a hole. */
export function isWhole(turns: readonly number[]): boolean {
  return turns.every((turn, i) => turn === i + 1)
}

/** The number of an instance that is there. */
export async function iidOf({ store }: OpenedStore, id: string): Promise<Iid> {
  const [row] = await store.find([id])
  if (row === undefined) throw new Error(`there is no instance "${id}"`)
  return row.iid
}

/** How many rows wait in the inbox of an instance; `unparked` ones are what makes it claimable. */
export async function mailOf(
  under: OpenedStore,
  iid: Iid,
): Promise<{ all: number; unparked: number }> {
  const rows = await under.sql<{ parked: boolean | number }>(
    'select parked from inbox where iid = ?',
    iid,
  )
  return { all: rows.length, unparked: rows.filter(({ parked }) => !parked).length }
}

/** For runtimes that are to tick three times a second; on a store that counts, see there. */
export const FREQUENT_TICKS = { lease: '1s' } as const

// Long enough for a machine that is busy with other tests.
const GRANTED_LEASE_MS = 60_000

/**
 * A store whose ticks, and the instances claimed from it, are counted. It grants longer leases than
 * it is asked for: frequent ticks must not make it likely that a runtime is declared dead.
 */
export interface CountingStore {
  readonly store: WorkflowStore
  readonly ticks: () => number
  readonly claims: () => number
  /** Until the store was asked so often from now on, each time from beginning to end. */
  readonly furtherTicks: (count: number) => Promise<unknown>
}

/** Puts such a store in front of another. */
export function countingStore(inner: WorkflowStore): CountingStore {
  let [ticks, claims] = [0, 0]
  const store = withMethods(inner, {
    register: (registration) => inner.register({ ...registration, leaseMs: GRANTED_LEASE_MS }),
    renewLease: (runtime) => inner.renewLease(runtime, GRANTED_LEASE_MS),
    async tick(request) {
      const answer = await inner.tick(request)
      ticks++
      return answer
    },
    async claim(request) {
      const answer = await inner.claim(request)
      claims += answer.claims.length
      return answer
    },
  })
  return {
    store,
    ticks: () => ticks,
    claims: () => claims,
    furtherTicks(count) {
      // One may be under way that began before.
      const enough = ticks + count + 1
      return eventually(() => ticks >= enough)
    },
  }
}

/** A store that keeps one commit from arriving for a while. */
export interface HoldingStore {
  readonly store: WorkflowStore
  /** Resolves when that commit is on its way. */
  readonly onItsWay: Promise<void>
  readonly letGo: () => void
}

/** Puts such a store in front of another; `picks` chooses the commit, the first one counts. */
export function holdingStore(
  inner: WorkflowStore,
  picks: (batch: CommitBatch) => boolean,
): HoldingStore {
  const sent = deferred()
  const free = deferred()
  let isHolding = true
  const store = withMethods(inner, {
    async commit(batch) {
      if (isHolding && picks(batch)) {
        isHolding = false
        sent.resolve()
        await free.promise
      }
      return inner.commit(batch)
    },
  })
  return { store, onItsWay: sent.promise, letGo: () => free.resolve() }
}

/** A connection to the tables of a store on PostgreSQL, for transactions that stay open. */
export async function connectionTo(under: OpenedStore): Promise<TestSchema> {
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  const own = await testSchema('race_side')
  await own.query(`select set_config('search_path', $1, false)`, [row!.schema])
  return own
}

/**
 * Waits until a session waits for such a lock on the tables of a store on PostgreSQL. Uses a
 * connection without a transaction: inside one, the server keeps returning its first answer.
 */
export async function lockIsWaitedFor(
  under: OpenedStore,
  locktype: 'advisory' | 'transactionid',
): Promise<void> {
  await eventually(() =>
    under.sql(
      `select 1 from pg_locks as l join pg_stat_activity as a using (pid)
      where not l.granted and l.locktype = ? and a.query like '%' || current_schema() || '%'`,
      locktype,
    ),
  )
}
