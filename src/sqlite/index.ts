// The public entry `holdfast/sqlite`.
export type { Store } from '../store/store.ts'
export type { DriverName } from './driver.ts'
export type { SqliteOptions } from './options.ts'
export { sqlite } from './sqlite.ts'
