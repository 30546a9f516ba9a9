// A scenario puts one kind of load on a store and reports the outcome. It works with any store that
// `open` takes.

import { open, type OpenOptions, type Runtime, type Store } from '../../src/index.ts'
import type { Outcome } from './outcome.ts'

/** Where a scenario keeps its state: empty at first, removed when it is disposed of. */
export interface StressPlace extends AsyncDisposable {
  readonly store: Store
  /** The same by a pool with room for very few connections, where a store has such a thing. */
  readonly smallPool?: Store
}

/** How a store is brought to this: the default export of a module that `--store` names. */
export type OpenPlace = () => Promise<StressPlace>

/** One kind of load. */
export interface Scenario {
  readonly name: string
  /** Takes minutes: only played when it is named, or with `--long`. */
  readonly isLong?: boolean
  /** What is put on the store, in words. */
  readonly what: string
  play(place: StressPlace, size: Size): Promise<readonly Result[] | Skipped>
}

/** `smoke`: for a moment, to see that it still works; rates and times are not judged then. */
export type Size = 'full' | 'smoke'

/** One line of the table. */
export interface Result {
  /** Which part of the scenario it is, when there are several. */
  readonly part?: string
  readonly outcome: Outcome
  /** Which criteria were not met, in words. */
  readonly findings: readonly string[]
}

/** Why this store is spared. */
export interface Skipped {
  readonly skipped: string
}

/** Opens a runtime for as long as `use` runs. */
export async function withRuntime<T>(
  store: Store,
  options: OpenOptions,
  use: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const runtime = await open(store, options)
  try {
    return await use(runtime)
  } finally {
    await runtime.close({ drain: 0 })
  }
}
