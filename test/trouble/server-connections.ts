import type { Scene } from '../e2e/scene.ts'

// The latest statement of the connection, on a server that no other test uses.
const IS_COMMITS = `query like '%commit_batch%'`

/** The kinds of connections that a runtime has, as the server can distinguish them. */
export const KINDS = {
  commits: `application_name = 'holdfast' and ${IS_COMMITS}`,
  calls: `application_name = 'holdfast' and not ${IS_COMMITS}`,
  hints: `application_name = 'holdfast hints'`,
  leases: `application_name = 'holdfast lease'`,
} as const

/** One of them. */
export type Kind = keyof typeof KINDS

/** Whether there is a connection of a kind. */
export async function isThere(scene: Scene, kind: Kind): Promise<boolean> {
  const rows = await scene.query(`select from pg_stat_activity where ${KINDS[kind]}`)
  return rows.length > 0
}

/** Ends all connections of a kind; returns how many there were. */
export async function cut(scene: Scene, kind: Kind): Promise<number> {
  const rows = await scene.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where pid <> pg_backend_pid() and ${KINDS[kind]}`,
  )
  return rows.length
}
