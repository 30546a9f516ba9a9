// A standby that receives what a primary writes, by streaming replication, and takes its place.
// The package with the binaries has no pg_basebackup: the standby begins with a copy of the files,
// made while the primary is stopped, and catches up from there.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passTime } from 'node:timers/promises'
import { Client } from 'pg'
import type { PostgresServer } from '../support/postgres-server.ts'

/** A server that follows another one. */
export interface Standby {
  readonly port: number
  /** Whether it has written to its disk all that the primary had written when asked. */
  hasCaughtUp(): Promise<boolean>
  /** Makes it a primary; resolves when it takes writes. */
  promote(): Promise<void>
  remove(): Promise<void>
}

/** The port that a URL leads to. */
export function portOf(url: string): number {
  return Number(new URL(url).port)
}

/** Runs a statement on the server at a port. */
export async function ask(port: number, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ host: '127.0.0.1', port, user: 'holdfast', database: 'postgres' })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

/** Makes a standby of a server, which is stopped for that and started again. */
export async function startStandby(primary: PostgresServer): Promise<Standby> {
  const from = portOf(primary.url)
  const [place] = await ask(
    from,
    `select current_setting('data_directory') as data,
      (select setting from pg_config where name = 'BINDIR') as bin`,
  )
  const data = String(place!['data'])
  const { uid, gid } = statSync(data)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-standby-'))
  const copy = join(folder, 'data')
  chownSync(folder, uid, gid)
  await primary.stop()
  execFileSync('cp', ['-a', data, copy])
  await primary.start()
  writeFileSync(join(copy, 'standby.signal'), '')
  chownSync(join(copy, 'standby.signal'), uid, gid)

  const port = await freePort()
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `primary_conninfo=host=127.0.0.1 port=${from} user=holdfast application_name=standby`,
    // So that it begins to follow at once.
    'wal_retrieve_retry_interval=100ms',
  ]
  const child = spawn(
    join(String(place!['bin']), 'postgres'),
    ['-D', copy, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(process.getuid?.() === 0 && { uid, gid }),
    },
  )
  const killAtExit = (): void => void child.kill('SIGQUIT')
  process.once('exit', killAtExit)
  await said(child, 'ready to accept read-only connections')
  await until(async () => (await ask(from, 'select from pg_stat_replication')).length === 1)

  return {
    port,
    async hasCaughtUp() {
      const [row] = await ask(
        from,
        'select bool_and(flush_lsn >= pg_current_wal_lsn()) as yes from pg_stat_replication',
      )
      return row!['yes'] === true
    },
    async promote() {
      await ask(port, 'select pg_promote(true, 60)')
    },
    async remove() {
      process.off('exit', killAtExit)
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGQUIT')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * `kill -9` of a server with all its processes, as if its machine were gone: a connection that is
 * served for a moment longer would get answers to commits that no standby has.
 */
export async function killServer(primary: PostgresServer): Promise<void> {
  const client = new Client({ connectionString: primary.url })
  client.on('error', () => {})
  await client.connect()
  // No process is added from here on.
  process.kill(primary.pid, 'SIGSTOP')
  const { rows } = await client.query(
    'select pid from pg_stat_activity where pid <> pg_backend_pid()',
  )
  const [own] = (await client.query('select pg_backend_pid() as pid')).rows as { pid: number }[]
  for (const { pid } of [...(rows as { pid: number }[]), own!, { pid: primary.pid }]) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      // It has ended by itself.
      if ((error as { code?: string }).code !== 'ESRCH') throw error
    }
  }
  await primary.stop()
  await client.end().catch(() => {})
}

/** Resolves once a server says something; rejects with its log if it ends. */
function said(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`postgres ended with ${code}\n${log}`)))
    // Read to the end: a full pipe would stop the server.
    child.stderr!.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000)
      if (log.includes(words)) resolve()
    })
  })
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const limitMs = performance.now() + 60_000; !(await holds()); await passTime(20)) {
    if (performance.now() > limitMs) throw new Error('the standby does not follow the primary')
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
