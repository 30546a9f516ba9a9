import type { SqliteSettings } from '../connect/options.ts'
import type { Database } from './database.ts'

/** Where a store is, and how others reach it. */
export interface StorePlace {
  readonly settings: SqliteSettings
  /** The one connection to a database in memory, if this process has it. Others open their own. */
  readonly shared?: SharedDatabase
}

/** A database that all parts of a store use through one connection. */
export interface SharedDatabase {
  readonly database: Database
  /** Milliseconds since 1970, by its clock. */
  now(): number
}
