import { StoreError } from '../../store/store-error.ts'
import type { Driver } from '../connect/driver.ts'
import { INSTANCES } from '../migrations/0001_instances.ts'
import { MESSAGES } from '../migrations/0002_messages.ts'
import { TASKS } from '../migrations/0003_tasks.ts'
import { RETENTION } from '../migrations/0004_retention.ts'
import { ABSENCES } from '../migrations/0005_absences.ts'
import { VERSIONS } from '../migrations/0006_versions.ts'
import { TASK_TOKENS } from '../migrations/0007_task_tokens.ts'
import { WHEREABOUTS } from '../migrations/0008_whereabouts.ts'
import { UNSTARTED } from '../migrations/0009_unstarted.ts'
import { SCHEDULES } from '../migrations/0010_schedules.ts'
import { ADMINISTRATION } from '../migrations/0011_administration.ts'
import { LIMITS } from '../migrations/0012_limits.ts'
import { LISTS } from '../migrations/0013_lists.ts'
import { PROGRESS_VERSIONS } from '../migrations/0014_progress_versions.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { QUEUES } from '../queue/migrations/0001_queues.ts'

/** Says in the file's header that it is ours: "HFST". */
export const APPLICATION_ID = 0x48465354

/** Says the same of a file with queues: "HFQU". */
const QUEUE_APPLICATION_ID = 0x48465155

interface Schema {
  readonly applicationId: number
  /** In order; the file's `user_version` is how many of them it has had. */
  readonly migrations: readonly string[]
}

const SCHEMAS: Readonly<Record<SqliteSettings['holds'], Schema>> = {
  workflows: {
    applicationId: APPLICATION_ID,
    migrations: [
      INSTANCES,
      MESSAGES,
      TASKS,
      RETENTION,
      ABSENCES,
      VERSIONS,
      TASK_TOKENS,
      WHEREABOUTS,
      UNSTARTED,
      SCHEDULES,
      ADMINISTRATION,
      LIMITS,
      LISTS,
      PROGRESS_VERSIONS,
    ],
  },
  queues: { applicationId: QUEUE_APPLICATION_ID, migrations: [QUEUES] },
}

/** What is looked at of the settings. */
type Place = Pick<SqliteSettings, 'path' | 'holds'>

/**
 * Refuses a file that is not ours to write, before anything in it is changed: another program's
 * database, or one that a newer version has migrated.
 */
export function checkFile(driver: Driver, { path, holds }: Place): void {
  const { applicationId, migrations } = SCHEMAS[holds]
  const application = pragma(driver, 'application_id')
  const version = pragma(driver, 'user_version')
  if (application === applicationId) {
    if (version <= migrations.length) return
    throw new StoreError(
      'newer_schema',
      'sqlite open',
      `${path} has schema ${version}, this version of holdfast supports up to ${migrations.length}`,
    )
  }
  const used = driver.prepare('select name from sqlite_schema limit 1').get()
  if (application === 0 && version === 0 && used === undefined) return
  throw new StoreError('misconfigured', 'sqlite open', `${path} is ${ownerOf(application)}`)
}

/** How many migrations a file has had, and how many there are. Throws for a file that is not ours to use. */
export function migrationsOf(driver: Driver, place: Place): { applied: number; known: number } {
  checkFile(driver, place)
  return {
    applied: pragma(driver, 'user_version'),
    known: SCHEMAS[place.holds].migrations.length,
  }
}

/** Whether the file has had all migrations, as far as can be seen without its lock. Throws for a file that is not ours to use. */
export function isCurrent(driver: Driver, place: Place): boolean {
  const { applied, known } = migrationsOf(driver, place)
  return applied === known
}

/** Refuses to read a file that does not hold what is wanted. Its schema may be of any version. */
export function checkHolds(driver: Driver, { path, holds }: Place): void {
  const application = pragma(driver, 'application_id')
  if (application === SCHEMAS[holds].applicationId) return
  throw new StoreError('misconfigured', 'sqlite open', `${path} is ${ownerOf(application)}`)
}

/** Brings the file up to date. Call it in a write transaction: another process may have begun. */
export function migrate(driver: Driver, place: Place): void {
  checkFile(driver, place)
  const { applicationId, migrations } = SCHEMAS[place.holds]
  const from = pragma(driver, 'user_version')
  if (from === migrations.length) return
  for (const sql of migrations.slice(from)) driver.exec(sql)
  driver.exec(`pragma application_id = ${applicationId}`)
  driver.exec(`pragma user_version = ${migrations.length}`)
}

function ownerOf(application: number): string {
  const kind = Object.entries(SCHEMAS).find(([, schema]) => schema.applicationId === application)
  return kind === undefined
    ? `a database of another application (application_id ${application})`
    : `a file of holdfast that holds ${kind[0]}; each kind needs a file of its own`
}

function pragma(driver: Driver, name: 'application_id' | 'user_version'): number {
  return (driver.prepare(`pragma ${name}`).get() as Record<string, number>)[name]!
}
