// What a process with workflows does all day: it runs some, waits for those of others, and has clients
// that come and go.

import { getEventListeners } from 'node:events'
import { Pool } from 'pg'
import { silentLog } from '../../src/base/log.ts'
import { channel, type Client, connect, open, type Store, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { tempFile } from '../support/sqlite.ts'
import type { Load, NamedLoad } from './watch.ts'

const AT_ONCE = 50
const QUIET = { log: silentLog }
const go = channel<number>('go')

const echo = workflow('echo', async (n: number, ctx) => ctx.step('step', async () => n))
const receives = workflow('receives', async (_: undefined, ctx) => {
  const n = await ctx.receive(go)
  ctx.progress({ n })
  return n
})

/** Workflows on both stores; `postgresUrl` leads to a server. */
export function workflowLoads(postgresUrl: () => Promise<string>): readonly NamedLoad[] {
  // Each time is two workflows and more; instances that were released stay in memory for a while.
  const shared = { share: 1 / 4, maxBytesEach: 200 }
  return [
    { name: 'workflows, waits and clients on SQLite', open: () => onSqlite(), ...shared },
    {
      name: 'workflows, waits and clients on PostgreSQL',
      open: async () => onPostgres(await postgresUrl()),
      ...shared,
    },
  ]
}

async function onSqlite(): Promise<Load> {
  const file = tempFile()
  return workflowLoad(
    sqlite({ path: file.path }),
    () => 0,
    async () => file[Symbol.dispose](),
  )
}

async function onPostgres(url: string): Promise<Load> {
  const pool = new Pool({ connectionString: url, max: 12 })
  const listeners = (): number => pool.listenerCount('error') + pool.listenerCount('connect')
  const schema = `leaks_${process.pid}`
  return workflowLoad(postgres({ pool, schema }), listeners, async () => {
    await pool.query(`drop schema "${schema}" cascade`)
    await pool.end()
  })
}

async function workflowLoad(
  store: Store,
  listeners: () => number,
  end: () => Promise<void>,
): Promise<Load> {
  let ticks = 0
  const counted = withTicks(store, () => ticks++)
  const runtime = await open(counted, { register: [echo, receives], ...QUIET })
  const client = connect(counted, QUIET)
  // One that lasts as long as the process, as those of servers do.
  const { signal } = new AbortController()
  const once = async (n: number): Promise<void> => {
    await runtime.run(echo, n)
    const { id } = await client.start(echo, n)
    await client.get(echo, id).result({ signal, timeout: '1m' })
    if (n % 10 === 0) await converse(client, n)
    if (n % 25 === 0) {
      await using another = connect(counted, QUIET)
      await another.run(echo, n)
    }
    if (n % 50 === 0) await giveUp(client)
  }
  return {
    async run(times) {
      let next = 0
      const some = async (): Promise<void> => {
        while (next < times) await once(next++)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, some))
      await runtime.idle()
    },
    counts() {
      const counts = {
        listeners: getEventListeners(signal, 'abort').length + processListeners() + listeners(),
        ticks,
      }
      ticks = 0
      return counts
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await runtime.close()
      await end()
    },
  }
}

/** Watches an instance, sends to it, and waits for its end. */
async function converse(client: Client, n: number): Promise<void> {
  const instance = await client.start(receives)
  const watching = (async () => {
    for await (const _ of instance.watch());
  })()
  await instance.send(go, n)
  await Promise.all([watching, instance.result()])
}

/** Waits for a message that does not come, for a moment. */
async function giveUp(client: Client): Promise<void> {
  const instance = await client.start(receives)
  await instance.result({ timeout: 1 }).catch(() => {})
  await instance.terminate()
}

function processListeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
}

/** The same store, whose ticks are counted. */
function withTicks(store: Store, ticked: () => void): Store {
  const inner = store as StoreHandle
  const handle: StoreHandle = {
    kind: inner.kind,
    [OPEN_WORKFLOW_STORE]() {
      const opened = inner[OPEN_WORKFLOW_STORE]()
      const tick = opened.tick.bind(opened)
      return Object.assign(opened, {
        tick: (request: Parameters<typeof tick>[0]) => {
          ticked()
          return tick(request)
        },
      })
    },
  }
  return handle
}
