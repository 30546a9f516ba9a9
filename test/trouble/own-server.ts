// A server of a test's own, whose settings are changed while it runs.

import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'

/** A server and what may be done to it. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Runs a statement over a connection that is opened at the beginning, and stays. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** Writes a file that the server can read, into its data directory; answers its path. */
  write(name: string, content: string): string
  /** The authentication rules, as lines of pg_hba.conf. */
  letIn(...lines: readonly string[]): Promise<void>
  /** What it serves of ours: the kinds of connections, and whether each is encrypted. */
  ours(): Promise<{ name: string; ssl: boolean; query: string }[]>
  /** Ends all connections of ours. */
  cut(): Promise<void>
}

/** Starts one. `settings` are lines of `postgresql.conf`. */
export async function ownServer(settings: readonly string[] = []): Promise<OwnServer> {
  const server: PostgresServer = await startPostgres(settings)
  const admin = new Client({ connectionString: server.url })
  admin.on('error', () => {})
  await admin.connect()
  const query: OwnServer['query'] = async (text, values = []) =>
    (await admin.query(text, [...values])).rows as Record<string, unknown>[]
  const [place] = await query(`select current_setting('data_directory') as data`)
  const data = String(place!['data'])
  const { uid, gid } = statSync(data)

  const write = (name: string, content: string): string => {
    const path = join(data, name)
    writeFileSync(path, content)
    chmodSync(path, 0o600)
    chownSync(path, uid, gid)
    return path
  }
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    query,
    write,
    async letIn(...lines) {
      write('pg_hba.conf', `${lines.join('\n')}\n`)
      await query('select pg_reload_conf()')
    },
    async ours() {
      const rows = await query(
        `select application_name as name, ssl, query
         from pg_stat_activity join pg_stat_ssl using (pid)
         where application_name like 'holdfast%'`,
      )
      return rows as { name: string; ssl: boolean; query: string }[]
    },
    async cut() {
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
    },
    async [Symbol.asyncDispose]() {
      await admin.end()
      await server.remove()
    },
  }
}
