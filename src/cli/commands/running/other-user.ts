// PostgreSQL refuses to run as root: as root, its programs run as another user.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A user of this machine, as `spawn` takes it. */
export interface OtherUser {
  readonly uid: number
  readonly gid: number
}

const NAMES = ['postgres', 'nobody']

/** The user for programs that refuse to run as root; `undefined` unless this process is root. */
export function otherUser(): OtherUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of NAMES) {
    const found = users.find(([known]) => known === name)
    if (found) return { uid: Number(found[2]), gid: Number(found[3]) }
  }
  throw new Error('root cannot run PostgreSQL, and there is no user "postgres" or "nobody"')
}

/** Whether a user can work in a folder. */
export function canReach(folder: string, user: OtherUser): boolean {
  // Not by the option `cwd`, which is applied while the child is still root.
  const { status } = spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { cwd: '/', ...user })
  return status === 0
}

/**
 * The folder of PostgreSQL's programs, which are in `bin` of the folder `native`. They are copied to
 * `folder` first if the other user cannot get at them.
 */
export function reachablePrograms(
  native: string,
  folder: string,
  user: OtherUser | undefined,
): string {
  const bin = join(native, 'bin')
  if (user === undefined) return bin
  const { status } = spawnSync(join(bin, 'postgres'), ['--version'], { cwd: folder, ...user })
  if (status === 0) return bin
  const copy = join(folder, 'native')
  rmSync(copy, { recursive: true, force: true })
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  chmodSync(copy, 0o755)
  return join(copy, 'bin')
}
