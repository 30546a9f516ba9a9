import { setImmediate } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'

/** A function that collects all garbage there is. */
export function exposeGc(): () => Promise<void> {
  v8.setFlagsFromString('--expose-gc')
  const gc = vm.runInNewContext('gc') as () => void
  return async () => {
    // What was dropped by promises that settled just now is free one turn later.
    for (let round = 0; round < 3; round++) {
      await setImmediate()
      gc()
    }
  }
}
