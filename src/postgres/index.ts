// The public entry `holdfast/postgres`.
export type { Store } from '../store/store.ts'
export type { PostgresOptions } from './options.ts'
export { postgres } from './store.ts'
