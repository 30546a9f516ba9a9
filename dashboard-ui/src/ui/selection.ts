import { useEffect, useState } from 'preact/hooks'

import type { Selection } from './data-table.tsx'

/** Rows that are selected in a list. */
export interface Selected {
  readonly keys: readonly string[]
  /** For the table. */
  readonly selection: Selection
  readonly select: (keys: readonly string[]) => void
  readonly clear: () => void
}

/** Lets rows be selected, over pages, until `of` changes: the filter, or whatever else they belong to. */
export function useSelection(onPage: readonly string[], of = ''): Selected {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => setKeys(new Set()), [of])
  const all = onPage.length > 0 && onPage.every((key) => keys.has(key))
  return {
    keys: [...keys],
    select: (given) => setKeys(new Set(given)),
    clear: () => setKeys(new Set()),
    selection: {
      has: (key) => keys.has(key),
      toggle(key) {
        const next = new Set(keys)
        if (!next.delete(key)) next.add(key)
        setKeys(next)
      },
      all,
      toggleAll() {
        const others = [...keys].filter((key) => !onPage.includes(key))
        setKeys(new Set(all ? others : [...others, ...onPage]))
      },
    },
  }
}
