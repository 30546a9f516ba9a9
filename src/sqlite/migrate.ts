import { StoreError } from '../store/store-error.ts'
import type { Driver } from './driver.ts'
import { INSTANCES } from './migrations/0001_instances.ts'
import { MESSAGES } from './migrations/0002_messages.ts'

/** Says in the file's header that it is ours: "HFST". */
export const APPLICATION_ID = 0x48465354

/** In order; the file's `user_version` is how many of them it has had. */
const MIGRATIONS: readonly string[] = [INSTANCES, MESSAGES]

/**
 * Refuses a file that is not ours to write, before anything in it is changed: somebody else's
 * database, or one that a newer version has migrated.
 */
export function checkFile(driver: Driver, path: string): void {
  const application = pragma(driver, 'application_id')
  const version = pragma(driver, 'user_version')
  if (application === APPLICATION_ID) {
    if (version <= MIGRATIONS.length) return
    throw new StoreError(
      'newer_schema',
      'sqlite open',
      `${path} has schema ${version}, this version of holdfast knows ${MIGRATIONS.length}`,
    )
  }
  const used = driver.prepare('select name from sqlite_schema limit 1').get()
  if (application === 0 && version === 0 && used === undefined) return
  throw new StoreError(
    'misconfigured',
    'sqlite open',
    `${path} is a database of another application (application_id ${application})`,
  )
}

/** Brings the file up to date. To be called in a write transaction: another process may have begun. */
export function migrate(driver: Driver, path: string): void {
  checkFile(driver, path)
  const from = pragma(driver, 'user_version')
  if (from === MIGRATIONS.length) return
  for (const sql of MIGRATIONS.slice(from)) driver.exec(sql)
  driver.exec(`pragma application_id = ${APPLICATION_ID}`)
  driver.exec(`pragma user_version = ${MIGRATIONS.length}`)
}

function pragma(driver: Driver, name: 'application_id' | 'user_version'): number {
  return (driver.prepare(`pragma ${name}`).get() as Record<string, number>)[name]!
}
