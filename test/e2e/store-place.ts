import { postgres } from '../../src/postgres/store.ts'
import { sqlite } from '../../src/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'

/** Where a store is, in a form that can be passed to another process. */
export type StorePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** The store at a place. */
export function storeOf(place: StorePlace): Store {
  switch (place.kind) {
    case 'sqlite':
      return sqlite({ path: place.path })
    case 'postgres':
      return postgres({ url: place.url, schema: place.schema })
  }
}
