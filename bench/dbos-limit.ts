// Partitioned queues of DBOS, measured in a process of their own.

import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { installDbos } from './dbos.ts'
import { LineProcess } from './line-process.ts'
import type { BenchServer } from './postgres.ts'

const DATABASE = 'bench_dbos'
// Where `installDbos` puts it.
const FOLDER = join(tmpdir(), 'holdfast-bench-dbos')
const LONGEST_MS = 10 * 60_000

/** How much is started. */
export interface LimitPlan {
  readonly starts: number
  readonly keys: number
  /** At once, for each key. */
  readonly concurrency: number
  /** How many starts are under way at once. */
  readonly inFlight: number
}

/** An installed DBOS. */
export interface DbosLimit {
  readonly version: string
  /** Workflows per second, from the first start to the last end. */
  load(server: BenchServer, plan: LimitPlan & { readonly pollMs: number }): Promise<number>
}

/** Installs DBOS, unless an earlier run did; a text says why that was not possible. */
export function installDbosLimit(): DbosLimit | string {
  const dbos = installDbos()
  if (typeof dbos === 'string') return dbos
  return {
    version: dbos.version,
    async load(server, plan) {
      const url = await server.freshDatabase(DATABASE)
      await using measuring = new LineProcess({
        script: join(import.meta.dirname, 'peers', 'dbos-limit.mjs'),
        args: [FOLDER, url, 'LIMIT', JSON.stringify(plan)],
        longestMs: LONGEST_MS,
      })
      await measuring.until('ready')
      const { seconds, most } = JSON.parse(await measuring.ask('go')) as {
        seconds: number
        most: number
      }
      await measuring.end()
      const [row] = await server.query<{ done: number }>(
        DATABASE,
        `select count(*)::int as done from dbos.workflow_status where status = 'SUCCESS'`,
      )
      if (row!.done !== plan.starts || most > plan.concurrency) {
        throw new Error(
          `DBOS, LIMIT: ${plan.starts} were started, ${row!.done} are recorded, ${most} of a key ran at once`,
        )
      }
      return plan.starts / seconds
    },
  }
}
