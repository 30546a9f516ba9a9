import {
  doctor,
  type DoctorOptions,
  type Finding,
  type Metrics,
  migrationSql,
  postgres,
  type PostgresOptions,
  type Store,
} from 'holdfast/postgres'

export const options: PostgresOptions = { url: 'postgres://localhost/shop', schema: 'we ird' }
export const store: Store = postgres(options)
export const kind: string = store.kind

export const metrics: Metrics = { count: () => {}, record: () => {} }
export const measured: Store = postgres({ ...options, metrics })

export const sql: string = migrationSql({ schema: 'we ird' })
export const looking: DoctorOptions = { ...options, longTransaction: '5m' }
export const findings = (): Promise<readonly Finding[]> => doctor(looking)
