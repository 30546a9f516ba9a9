// How soon other libraries notify a process of work, and what waiting for it costs. Each is
// measured in two processes: one that works and one that sends. They are installed into folders of
// their own when they are needed, since Holdfast itself does not use them.

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { installDbos } from './dbos.ts'
import { installJobs, JOBS_FOLDER, JOBS_NODE, jobsVersion } from './jobs.ts'
import { LineProcess } from './line-process.ts'
import type { BenchServer } from './postgres.ts'

const DATABASE = 'bench_pickup'
// Where `installDbos` puts it.
const DBOS_FOLDER = join(tmpdir(), 'holdfast-bench-dbos')
const SCRIPTS = join(import.meta.dirname, 'peers')
// For starting and stopping.
const SPARE_MS = 120_000

/** How long a peer is watched while idle, and what is sent to it. */
export interface PickupPlan {
  readonly settleMs: number
  readonly idleMs: number
  readonly messages: number
  readonly everyMs: number
}

/** The figures of one peer. */
export interface Pickup {
  readonly idleStatements: number
  readonly tookMs: readonly number[]
}

/** A peer that is installed. */
export interface PickupPeer {
  readonly name: string
  measure(server: BenchServer, plan: PickupPlan): Promise<Pickup>
}

/**
 * Installs all of them, unless an earlier run did; returns a text that says what could not be
 * installed.
 */
export function installPickupPeers(): readonly (PickupPeer | string)[] {
  const dbos = installDbos()
  const jobs = installJobs()
  return [
    typeof dbos === 'string'
      ? `DBOS: ${dbos}`
      : peer(`DBOS ${dbos.version}`, 'pickup-dbos.mjs', DBOS_FOLDER),
    ...(jobs === undefined
      ? [
          peer(
            `graphile-worker ${jobsVersion('graphile-worker')}`,
            'pickup-graphile.mjs',
            JOBS_FOLDER,
          ),
          peer(`pg-boss ${jobsVersion('pg-boss')} with notify`, 'pickup-pgboss.mjs', JOBS_FOLDER),
        ]
      : [`graphile-worker and pg-boss: ${jobs}`]),
  ]
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
          ...(folder === JOBS_FOLDER && { node: JOBS_NODE }),
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
