// PgBouncer in transaction mode before a server, where the program is installed.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './stage.ts'

/** Debian's folder for it is not in every user's path. */
const PROGRAM = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (program) => spawnSync(program, ['--version']).status === 0,
)

/** Whether there is one to be tried. */
export const hasPooler = PROGRAM !== undefined

/** A pooler that is running. */
export interface Pooler extends AsyncDisposable {
  /** The database by way of the pooler. */
  readonly url: string
}

/** Starts a pooler before the server at `url`, with fewer sessions of it than a store wants. */
export async function startPooler(url: string, sessions = 3): Promise<Pooler> {
  const { port: serverPort, username, pathname } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-pooler-'))
  // It refuses to run as root, and then reads its settings as another user.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
${pathname.slice(1)} = host=127.0.0.1 port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
`,
  )
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(PROGRAM!, [...asUser, settings], { stdio: 'ignore' })
  await until(() => takesConnections(port))
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    async [Symbol.asyncDispose]() {
      await end(child)
      rmSync(folder, { recursive: true })
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
