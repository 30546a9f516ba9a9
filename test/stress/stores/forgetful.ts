// A store that keeps everything but state, for seeing that this is found out.

import { sqlite } from '../../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../../src/store/store.ts'
import { withMethods } from '../../support/wrapped-store.ts'
import type { StressPlace } from '../scenario.ts'

/** Opens a place on it. */
export default async function openPlace(): Promise<StressPlace> {
  const handle = sqlite({ path: ':memory:' }) as StoreHandle
  const forgetful: StoreHandle = {
    kind: 'forgetful',
    [OPEN_WORKFLOW_STORE]: () =>
      withMethods(handle[OPEN_WORKFLOW_STORE](), {
        readState: async (wanted) => wanted.map(() => undefined),
      }),
  }
  return { store: forgetful, async [Symbol.asyncDispose]() {} }
}
