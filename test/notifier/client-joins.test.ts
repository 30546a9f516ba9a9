import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { channel, type Client, connect, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'

const go = channel('go')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
const CLIENTS = 8

test('clients that come one by one announce each wait once', async () => {
  await using database = await testSchema('joins')
  const { url, schema } = database
  const clients: Client[] = []
  const join = (): Client => {
    const client = connect(postgres({ url, schema }), { log: silentLog })
    clients.push(client)
    return client
  }
  const first = join()
  const { id } = await first.start(waits)
  const listener = await database.connect()
  const received: string[] = []
  listener.on('notification', ({ payload = '' }) => {
    const { kind } = JSON.parse(payload) as { kind: string }
    if (kind === 'waiting') received.push(payload)
  })
  const { rows } = await listener.query(`select hint_channel('all')`)
  await listener.query(`listen "${(rows[0] as { hint_channel: string }).hint_channel}"`)

  for (let i = 1; i <= CLIENTS; i++) {
    const client = join()
    client
      .get(id)
      .result()
      .catch(() => {})
    await eventually(() => new Set(received.map(senderOf)).size === i)
  }

  expect(received).toHaveLength(CLIENTS)
  await Promise.all(clients.map((client) => client.close()))
})

function senderOf(payload: string): unknown {
  return (JSON.parse(payload) as { from: string }).from
}
