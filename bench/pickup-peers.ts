// How soon others are told of work, and what it costs them to wait for it. Each is measured in two
// processes: one that works and one that sends. They are installed into folders of their own when
// they are wanted, since Holdfast itself has no use for them.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { installDbos } from './dbos.ts'
import { LineProcess } from './line-process.ts'
import type { BenchServer } from './postgres.ts'

const DATABASE = 'bench_pickup'
const FOLDER = join(tmpdir(), 'holdfast-bench-jobs')
// Where `installDbos` puts it.
const DBOS_FOLDER = join(tmpdir(), 'holdfast-bench-dbos')
const SCRIPTS = join(import.meta.dirname, 'peers')
const INSTALL_MS = 180_000
// For starting and stopping.
const SPARE_MS = 120_000
// The newest of both need a newer Node than Holdfast does, which comes as a package as well.
const WANTED = ['graphile-worker@^0.18.0', 'pg-boss@12.35.0', 'node@24']

/** How long a peer is watched while idle, and what is sent to it. */
export interface PickupPlan {
  readonly settleMs: number
  readonly idleMs: number
  readonly messages: number
  readonly everyMs: number
}

/** What came of it. */
export interface Pickup {
  readonly idleStatements: number
  readonly tookMs: readonly number[]
}

/** A peer that is installed. */
export interface PickupPeer {
  readonly name: string
  measure(server: BenchServer, plan: PickupPlan): Promise<Pickup>
}

/** Installs all of them, unless an earlier run did; a text says what could not be had. */
export function installPickupPeers(): readonly (PickupPeer | string)[] {
  const dbos = installDbos()
  const jobs = installJobs()
  return [
    typeof dbos === 'string'
      ? `DBOS: ${dbos}`
      : peer(`DBOS ${dbos.version}`, 'pickup-dbos.mjs', DBOS_FOLDER),
    ...(jobs === undefined
      ? [
          peer(`graphile-worker ${versionOf('graphile-worker')}`, 'pickup-graphile.mjs', FOLDER),
          peer(`pg-boss ${versionOf('pg-boss')} with notify`, 'pickup-pgboss.mjs', FOLDER),
        ]
      : [`graphile-worker and pg-boss: ${jobs}`]),
  ]
}

function installJobs(): string | undefined {
  if (existsSync(join(FOLDER, 'node_modules/pg-boss/package.json'))) return undefined
  mkdirSync(FOLDER, { recursive: true })
  const { status, stderr, error } = spawnSync(
    process.platform === 'win32' ? 'npm.cmd' : 'npm',
    ['install', '--prefix', FOLDER, '--no-audit', '--no-fund', '--force', ...WANTED],
    { cwd: FOLDER, encoding: 'utf8', timeout: INSTALL_MS },
  )
  if (status === 0) return undefined
  return `npm install ${WANTED.join(' ')} failed: ${error?.message ?? stderr.trim().slice(-300)}`
}

function versionOf(name: string): string {
  const manifest = readFileSync(join(FOLDER, 'node_modules', name, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

function peer(name: string, script: string, folder: string): PickupPeer {
  return {
    name,
    async measure(server, plan) {
      const url = await server.freshDatabase(DATABASE)
      const start = (role: 'work' | 'send'): LineProcess =>
        new LineProcess({
          script: join(SCRIPTS, script),
          args: [folder, url, role, JSON.stringify(plan)],
          longestMs: plan.settleMs + plan.idleMs + plan.messages * plan.everyMs + SPARE_MS,
          ...(folder === FOLDER && { node: join(FOLDER, 'node_modules/node/bin/node') }),
        })
      await using working = start('work')
      await working.until('ready')
      await sleep(plan.settleMs)
      const before = (await server.counters(DATABASE)).statements
      await sleep(plan.idleMs)
      const after = (await server.counters(DATABASE)).statements

      await using sending = start('send')
      await sending.until('ready')
      await sending.ask('go')
      const tookMs = JSON.parse(await working.line()) as number[]
      await sending.end()
      await working.end()
      const statements = (after ?? Number.NaN) - (before ?? Number.NaN)
      return { idleStatements: (statements / plan.idleMs) * 1_000, tookMs }
    },
  }
}
