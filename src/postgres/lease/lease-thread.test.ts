import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { eventually } from '../../../test/support/engine.ts'
import { openStore } from '../../../test/support/postgres-store.ts'
import { SharedLoopHeartbeat, sharedMs } from '../../watchdog/shared-loop-heartbeat.ts'
import { keepLease } from './lease-thread.ts'
import type { PostgresSettings } from '../connect/options.ts'

const LEASE_MS = 600

/** A runtime whose lease the thread renews; the event loop of these tests never beats. */
async function openKept(source?: PostgresSettings['source']) {
  const under = await openStore()
  const { schema, url } = under.database
  const { runtime } = await under.runtime(LEASE_MS)
  const heartbeat = new SharedLoopHeartbeat()
  heartbeat.runtime = runtime
  const troubles: string[] = []
  const keeper = keepLease(
    { source: source ?? { url }, schema },
    {
      memory: heartbeat.memory,
      leaseMs: LEASE_MS,
      giveUpMs: 600_000,
      onHang: 'ignore',
      onTrouble: (why) => troubles.push(why),
    },
  )
  return {
    ...under,
    runtime,
    heartbeat,
    troubles,
    keeper,
    /** When the lease ends, by the server's clock. */
    async leaseUntil(): Promise<number> {
      const [row] = await under.database.query<{ at: string }>(
        'select lease_until as at from runtimes where runtime = $1',
        [runtime],
      )
      return Number(row!.at)
    },
    /** The server's processes that serve the thread. */
    async pids(): Promise<number[]> {
      const rows = await under.database.query<{ pid: number }>(
        `select pid from pg_stat_activity
          where application_name = 'holdfast lease' and query like '%' || $1 || '%'`,
        [schema],
      )
      return rows.map(({ pid }) => pid)
    },
    async [Symbol.asyncDispose]() {
      await keeper?.stop()
      await under[Symbol.asyncDispose]()
    },
  }
}

test('the lease is renewed again and again, over one connection', async () => {
  await using under = await openKept()
  const first = await under.leaseUntil()

  await eventually(async () => (await under.leaseUntil()) > first + 2 * LEASE_MS)

  expect(await under.pids()).toHaveLength(1)
  expect(sharedMs() - under.heartbeat.renewedMs('thread')).toBeLessThan(10_000)
  expect(under.troubles).toEqual([])
})

test('a thread that is stopped leaves no connection behind', async () => {
  await using under = await openKept()
  await eventually(() => under.pids())

  await under.keeper!.stop()

  await eventually(async () => (await under.pids()).length === 0)
  const until = await under.leaseUntil()
  await eventually(() => sharedMs() > under.heartbeat.renewedMs('thread') + LEASE_MS)
  expect(await under.leaseUntil()).toBe(until)
})

test('a runtime that is dead is not brought back', async () => {
  await using under = await openKept()
  await eventually(() => under.pids())

  await under.store.unregister(under.runtime)
  const endedMs = sharedMs()
  const until = await under.leaseUntil()
  await eventually(() => sharedMs() > endedMs + LEASE_MS)

  expect(await under.leaseUntil()).toBe(until)
  expect(under.heartbeat.renewedMs('thread')).toBeLessThan(endedMs)
})

test('another connection follows one that was cut', async () => {
  await using under = await openKept()
  const [cut] = await eventually(() => under.pids())

  await under.database.query('select pg_terminate_backend($1)', [cut])
  const [next] = await eventually(async () => (await under.pids()).filter((pid) => pid !== cut))
  const seenMs = sharedMs()
  await eventually(() => under.heartbeat.renewedMs('thread') > seenMs)

  expect(await under.pids()).toEqual([next])
})

test('a server that cannot be reached is reported once, and stopping does not wait for it', async () => {
  await using under = await openKept({ url: 'postgres://127.0.0.1:1/nowhere' })

  await eventually(() => under.troubles)

  expect(under.troubles).toEqual([expect.stringContaining('ECONNREFUSED')])
  await under.keeper!.stop()
})

test('connections lead where those of the pool do', async () => {
  await using open = await openStore()
  const pool = new Pool({ connectionString: open.database.url })
  await using under = await openKept({ pool })

  expect(await eventually(() => under.pids())).toHaveLength(1)

  expect(pool.totalCount).toBe(0)
  await pool.end()
})

test('a pool whose settings cannot be sent to a thread has none, and says why', async () => {
  const pool = new Pool({ host: 'nowhere', ssl: { checkServerIdentity: () => undefined } })

  await using under = await openKept({ pool })

  expect(under.keeper).toBeUndefined()
  expect(under.troubles).toEqual(["the pool's setting ssl cannot be sent to a thread"])
})
