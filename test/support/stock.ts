import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'

// What is installed on the machine beside the packaged server: PostgreSQL as its distribution builds
// it, with JIT. Tests that need it are skipped where it is missing, and say so.

/** Where a program is, or why there is none. */
export type Found = readonly [path: string, why: ''] | readonly [path: undefined, why: string]

const DEBIAN = '/usr/lib/postgresql'

/** The folder of the newest PostgreSQL that the distribution has installed. */
export function stockBinaries(): Found {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : []
  const [newest] = versions
    .filter((n) => existsSync(join(DEBIAN, String(n), 'bin', 'initdb')))
    .toSorted((a, b) => b - a)
  if (newest === undefined) return [undefined, `no PostgreSQL is installed in ${DEBIAN}`]
  return [join(DEBIAN, String(newest), 'bin'), '']
}

/** `test` where something is installed; otherwise it is skipped, with the reason in its name. */
export function testWith(path: string | undefined, why: string) {
  return path === undefined
    ? (name: string, run: () => Promise<void>) => test.skip(`${name} (skipped: ${why})`, run)
    : test
}
