// graphile-worker and pg-boss, in a folder of their own: Holdfast itself does not use them.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where they are installed. */
export const JOBS_FOLDER = join(tmpdir(), 'holdfast-bench-jobs')
/** A Node that is new enough for both. */
export const JOBS_NODE = join(JOBS_FOLDER, 'node_modules/node/bin/node')

const INSTALL_MS = 180_000
// The newest of both need a newer Node than Holdfast does, which comes as a package as well.
const WANTED = ['graphile-worker@^0.18.0', 'pg-boss@12.35.0', 'node@24']

/** Installs them, unless an earlier run did; a text says why that failed. */
export function installJobs(): string | undefined {
  if (existsSync(join(JOBS_FOLDER, 'node_modules/pg-boss/package.json'))) return undefined
  mkdirSync(JOBS_FOLDER, { recursive: true })
  const { status, stderr, error } = spawnSync(
    process.platform === 'win32' ? 'npm.cmd' : 'npm',
    ['install', '--prefix', JOBS_FOLDER, '--no-audit', '--no-fund', '--force', ...WANTED],
    { cwd: JOBS_FOLDER, encoding: 'utf8', timeout: INSTALL_MS },
  )
  if (status === 0) return undefined
  return `npm install ${WANTED.join(' ')} failed: ${error?.message ?? stderr.trim().slice(-300)}`
}

/** The version of one of them that is installed. */
export function jobsVersion(name: string): string {
  const manifest = readFileSync(join(JOBS_FOLDER, 'node_modules', name, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
