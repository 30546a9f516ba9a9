import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Pool } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makePool, ownConnections } from '../../src/postgres/connect/connections.ts'
import type { PgPool } from '../../src/postgres/connect/driver.ts'
import { listenConnectionsFrom } from '../../src/postgres/notifier/listen-connection.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'

/** A message of the server: its letter, its length, and what it says. */
function message(letter: string, ...parts: readonly string[]): Buffer {
  const body = Buffer.from(parts.join(''), 'latin1')
  const head = Buffer.alloc(5)
  head.write(letter)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

// It accepts every connection and ends it at once: in one piece, so that no code that awaits the
// first promise can run before the last one is there.
const WELCOME_AND_END = Buffer.concat([
  message('R', '\0\0\0\0'),
  message('Z', 'I'),
  message('E', 'SFATAL\0', 'C57P01\0', 'Mterminating connection\0', '\0'),
])

/** A server that only implements the beginning of the protocol. */
async function serverThat(begins: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    begins(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://nobody@127.0.0.1:${port}/nowhere`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A server that cuts each connection in the moment in which it is opened. */
function cuttingServer() {
  return serverThat((socket) => socket.once('data', () => socket.end(WELCOME_AND_END)))
}

const WELCOME = Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')])

/**
 * A server that accepts every connection, and then never answers: as when a cable is pulled just
 * then.
 */
async function silentServer() {
  let asked!: () => void
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const server = await serverThat((socket) =>
    socket.once('data', () => {
      socket.write(WELCOME)
      socket.once('data', () => asked())
    }),
  )
  return Object.assign(server, { wasAsked })
}

/** Lets time pass for the code under test, but not for this test. */
function hurry(): { pass(ms: number): void } {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return { pass: (ms) => void vi.advanceTimersByTime(ms) }
}

// An unhandled error event would fail this whole file, as it would end a process.
test.each([
  ['of our own', (url: string) => ({ source: { url }, schema: 'x' })],
  [
    'of a pool of the user',
    (url: string) => {
      const pool = new Pool({ connectionString: url }) as unknown as PgPool
      return { source: { pool }, schema: 'x' }
    },
  ],
])('a connection %s that is cut while it is handed over is just replaced', async (_, settings) => {
  await using server = await cuttingServer()
  const store = postgresWorkflowStore(settings(server.url))

  for (let round = 0; round < 3; round++) {
    await expect(store.open()).rejects.toMatchObject({ code: 'connection_lost' })
    await expect(store.reserve(1)).rejects.toMatchObject({ code: 'connection_lost' })
  }

  await store.close()
})

test('a listen connection that is cut while it is handed over is just replaced', async () => {
  await using server = await cuttingServer()
  const pool = await makePool(server.url, 1)

  const opened = listenConnectionsFrom(pool, { isOurs: true, isForListening: false })({
    received() {},
    lost() {},
  })

  await expect(opened).rejects.toThrow('onnection')
  await pool.end()
})

test('a connection that falls silent as soon as it is open is given up', async () => {
  await using server = await silentServer()
  const time = hurry()
  const connections = ownConnections(server.url)

  const asked = connections.query('reserve', 'other', { text: 'select 1' })
  const failed = asked.catch((error: unknown) => error)
  await server.wasAsked
  time.pass(10_000)

  expect(await failed).toMatchObject({
    code: 'connection_lost',
    message: 'reserve: no answer within 10000 ms',
  })
  await connections.close()
})

test('so is one for hints', async () => {
  await using server = await silentServer()
  const time = hurry()
  const pool = await makePool(server.url, 1)

  const opened = listenConnectionsFrom(pool, { isOurs: true, isForListening: false })({
    received() {},
    lost() {},
  })
  const failed = opened.catch((error: unknown) => error)
  await server.wasAsked
  time.pass(10_000)

  expect(await failed).toMatchObject({ code: 'connection_lost' })
  await pool.end()
})
