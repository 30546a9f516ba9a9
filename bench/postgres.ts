// The PostgreSQL server of the benchmarks, and its statistics.

import { Client } from 'pg'

import { startPostgres } from '../test/support/postgres-server.ts'
import { databaseFolder } from './folder.ts'
import type { PerStep } from './peer.ts'

/** A server for benchmarks. */
export interface BenchServer extends AsyncDisposable {
  /** Version and settings that matter, for people. */
  readonly description: string
  /** The URL of a database, which is created if it is missing. */
  database(name: string): Promise<string>
  /** Creates an empty database in place of the one with that name; returns its URL. */
  freshDatabase(name: string): Promise<string>
  /** Runs a statement in a database of this server. */
  query<Row>(database: string, text: string): Promise<Row[]>
  counters(database: string): Promise<Counters>
  /**
   * WAL fsyncs of all client connections so far. Those of a connection are counted for certain only
   * once it has ended.
   */
  fsyncs(): Promise<number>
}

/** What the server has done so far. */
export interface Counters {
  readonly statements: number | undefined
  readonly writeTransactions: number
  readonly walBytes: number
}

/**
 * Starts a server with the settings that PostgreSQL ships with, or uses the one that
 * HOLDFAST_BENCH_PG_URL names. What is in its databases `bench_…` is dropped.
 */
export async function benchServer(connections = 300): Promise<BenchServer> {
  const given = process.env['HOLDFAST_BENCH_PG_URL']
  const settings = [`max_connections=${connections}`, 'shared_preload_libraries=pg_stat_statements']
  const own = given === undefined ? await startPostgres(settings, databaseFolder()) : undefined
  const url = given ?? own!.url
  const admin = new Client({ connectionString: url })
  try {
    await admin.connect()
    return await serverOver(url, admin, async () => {
      await admin.end()
      await own?.remove()
    })
  } catch (error) {
    await own?.remove()
    throw error
  }
}

async function serverOver(
  url: string,
  admin: Client,
  remove: () => Promise<void>,
): Promise<BenchServer> {
  const ask = async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await admin.query(text, values)).rows as Row[]
  const urlOf = (database: string): string => {
    const changed = new URL(url)
    changed.pathname = `/${database}`
    return changed.href
  }
  const [about] = await ask<{ version: string; number: number; settings: string; counts: boolean }>(
    `select current_setting('server_version') as version,
      current_setting('server_version_num')::int as number,
      'fsync ' || current_setting('fsync')
        || ', synchronous_commit ' || current_setting('synchronous_commit') as settings,
      current_setting('shared_preload_libraries') like '%pg_stat_statements%' as counts`,
  )
  const { version, number, settings, counts } = about!
  if (counts) await ask('create extension if not exists pg_stat_statements')
  // From version 18 on, pg_stat_wal counts no syncs.
  const [syncSource, syncs] =
    number >= 180_000
      ? [
          'pg_stat_io',
          `select coalesce(sum(fsyncs), 0)::bigint as n from pg_stat_io
           where object = 'wal' and backend_type = 'client backend'`,
        ]
      : ['pg_stat_wal', 'select wal_sync as n from pg_stat_wal']

  return {
    description:
      `PostgreSQL ${version}, ${settings}; statements from ` +
      `${counts ? 'pg_stat_statements (top level)' : 'nowhere: pg_stat_statements is not loaded'}, ` +
      'write transactions from pg_current_snapshot, WAL from pg_current_wal_lsn, ' +
      `fsyncs from ${syncSource}`,

    async database(name) {
      const known = await ask('select from pg_database where datname = $1', [name])
      if (known.length === 0) await ask(`create database ${name}`)
      return urlOf(name)
    },

    async freshDatabase(name) {
      await ask(`drop database if exists ${name} with (force)`)
      await ask(`create database ${name}`)
      return urlOf(name)
    },

    async query<Row>(database: string, text: string): Promise<Row[]> {
      const client = new Client({ connectionString: urlOf(database) })
      await client.connect()
      try {
        return (await client.query(text)).rows as Row[]
      } finally {
        await client.end()
      }
    },

    async counters(database) {
      const [row] = await ask<{ writes: string; wal: string }>(
        `select pg_snapshot_xmax(pg_current_snapshot())::text as writes,
          pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal`,
      )
      const [calls] = counts
        ? await ask<{ n: string }>(
            `select coalesce(sum(calls), 0)::text as n from pg_stat_statements s
             join pg_database d on d.oid = s.dbid where d.datname = $1 and s.toplevel`,
            [database],
          )
        : []
      return {
        statements: calls === undefined ? undefined : Number(calls.n),
        writeTransactions: Number(row!.writes),
        walBytes: Number(row!.wal),
      }
    },

    async fsyncs() {
      const [row] = await ask<{ n: string }>(syncs)
      return Number(row!.n)
    },

    [Symbol.asyncDispose]: remove,
  }
}

/**
 * What the server did per step between two readings. `fsyncs` were counted over `fsyncSteps` steps,
 * which include the warm-up.
 */
export function perStep(
  before: Counters,
  after: Counters,
  steps: number,
  fsyncs: number,
  fsyncSteps: number,
): PerStep {
  return {
    statements:
      before.statements === undefined || after.statements === undefined
        ? undefined
        : (after.statements - before.statements) / steps,
    writeTransactions: (after.writeTransactions - before.writeTransactions) / steps,
    walBytes: (after.walBytes - before.walBytes) / steps,
    fsyncs: fsyncs / fsyncSteps,
  }
}
