// A store that is not part of this package, as its author would bring it.

import { sqlite } from '../../../src/sqlite/index.ts'
import type { StressPlace } from '../scenario.ts'

/** Opens a place on it. */
export default async function openPlace(): Promise<StressPlace> {
  return { store: sqlite({ path: ':memory:' }), async [Symbol.asyncDispose]() {} }
}
