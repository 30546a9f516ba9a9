/** One file of SQL, as embedded in the package. */
export interface SqlFile {
  /** `migrations/0001_instances`, `procedures/claim`, …: as recorded in the database. */
  readonly name: string
  readonly checksum: string
  /**
   * For a migration, the number of the last migration that a process must have to run beside it, as
   * the line `-- Works with 0004.` says; without that line, a process must have this one.
   */
  readonly worksWith?: string
  /**
   * Of a procedure, the settings that it is given when they are not the usual ones: see
   * `procedure-settings.ts`.
   */
  readonly settings?: 'any plan' | 'none'
  readonly sql: string
}
