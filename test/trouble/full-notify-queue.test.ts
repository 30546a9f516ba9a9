// The server's notification queue is full: a listener sits in a transaction, and others keep
// sending.

import { Client } from 'pg'
import { expect, test } from 'vitest'
import { channel, connect, open, workflow } from '../../src/index.ts'
import { silentLog } from '../../src/base/log.ts'
import { postgres } from '../../src/postgres/index.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { alive } from '../../src/testing/contract/scene.ts'
import { ticking } from '../support/postgres-store.ts'
import { ownServer } from './own-server.ts'

const notes = channel<string>('notes')
const listens = workflow('listens', async (_: undefined, ctx) => ctx.receive(notes))

async function connected(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** Keeps the queue from being emptied, until its transaction ends. */
async function holdQueue(holder: Client): Promise<void> {
  await holder.query('listen crowded')
  await holder.query('begin')
  await holder.query('select 1')
}

async function sendUntilRefused(sender: Client): Promise<string> {
  for (let i = 0; i < 10_000; i++) {
    try {
      await sender.query(`select pg_notify('crowded', $1)`, [`${i} ${'x'.repeat(7_000)}`])
    } catch (error) {
      return (error as Error).message
    }
  }
  throw new Error('the queue of notifications is never full')
}

test("a full queue of notifications costs the hint, and not the user's commit", async () => {
  await using server = await ownServer(['max_notify_queue_pages=64'])
  const options = { url: server.url, schema: 'holdfast' }
  await using runtime = await open(postgres(options), { register: [listens], log: silentLog })
  await using client = connect(postgres(options), { log: silentLog })
  await runtime.start(listens, undefined, { id: 'running' })
  await using holder = await connected(server.url)
  await using user = await connected(server.url)
  const store = postgresWorkflowStore({ source: { url: server.url }, schema: 'holdfast' })
  await store.open()
  const registered = await store.register({ leaseMs: 30_000, info: '', workflows: [] })
  const tick = async (): Promise<boolean> => alive(await store.tick(ticking(registered))).soon
  const before = await tick()
  await holdQueue(holder)
  expect(await sendUntilRefused(user)).toBe('too many notifications in the NOTIFY queue')
  // Hints are left out: so ticks, which find what was not announced, come often.
  expect([before, await tick()]).toEqual([false, true])
  await store.close()

  await user.query('begin')
  await client.in(user).start(listens, undefined, { id: 'started' })
  await client.in(user).send('running', notes, 'hello')
  await client.in(user).cancel('started')
  await user.query('commit')

  const { rows } = await user.query('select count(*)::int as messages from holdfast.inbox')
  expect(rows).toEqual([{ messages: 2 }])
  expect(await client.get('started').info()).toBeDefined()
})
