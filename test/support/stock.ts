import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

// PostgreSQL as the distribution of the machine builds it, with JIT, beside the packaged server, which
// has none. Tests that need it are skipped where it is missing, and their name says so.

const DEBIAN = '/usr/lib/postgresql'

/** The folder of the newest PostgreSQL that the distribution has installed. */
export function stockBinaries(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number) : []
  const newest = versions
    .toSorted((a, b) => b - a)
    .find((version) => existsSync(join(DEBIAN, String(version), 'bin', 'initdb')))
  return newest === undefined ? undefined : join(DEBIAN, String(newest), 'bin')
}
