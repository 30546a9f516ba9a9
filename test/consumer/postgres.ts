import { postgres, type PostgresOptions, type Store } from 'holdfast/postgres'

export const options: PostgresOptions = { url: 'postgres://localhost/shop', schema: 'we ird' }
export const store: Store = postgres(options)
export const kind: string = store.kind
