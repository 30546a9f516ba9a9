import {
  openDatabase,
  sqlite,
  type SqliteDatabase,
  type SqliteOptions,
  type Store,
} from 'holdfast/sqlite'

export const options: SqliteOptions = { path: 'shop.db', durability: 'os' }
export const store: Store = sqlite(options)
export const builtin = sqlite({ path: ':memory:', driver: 'node:sqlite' })
export const kind: string = builtin.kind
export const openOwn = (): SqliteDatabase => openDatabase(options)
