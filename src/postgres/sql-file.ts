/** One file of SQL, as embedded in the package. */
export interface SqlFile {
  /** `migrations/0001_instances`, `procedures/claim`, …: as noted in the database. */
  readonly name: string
  readonly checksum: string
  readonly sql: string
}
