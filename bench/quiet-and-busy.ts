// A runtime that has nothing to do, and one that has as much to do as it can.

import { setTimeout as sleep } from 'node:timers/promises'

import type { OtherWork } from './between-processes.ts'
import { type Place, withRuntime } from './holdfast.ts'
import type { BenchServer } from './postgres.ts'
import { SHAPE_CODE, SHAPES } from './shapes.ts'

const DATABASE = 'bench_holdfast'
const IN_FLIGHT = 100

/** Statements per second that an idle runtime sends. */
export async function idleStatements(
  server: BenchServer,
  place: Place,
  { idleMs, settleMs }: { readonly idleMs: number; readonly settleMs: number },
): Promise<number> {
  return withRuntime(place.store(), SHAPES[0]!.workflow, async () => {
    await sleep(settleMs)
    const before = (await server.counters(DATABASE)).statements
    await sleep(idleMs)
    const after = (await server.counters(DATABASE)).statements
    if (before === undefined || after === undefined) return Number.POSITIVE_INFINITY
    return ((after - before) / idleMs) * 1_000
  })
}

/** Workflows of one activity, a hundred at a time, until it is stopped. */
export function underLoad(): OtherWork {
  const [shape] = SHAPES
  const { workflow, leaves } = shape!
  return {
    register: SHAPE_CODE,
    begin(runtime) {
      let workflows = 0
      let goesOn = true
      const lane = async (): Promise<void> => {
        while (goesOn) {
          await runtime.run(workflow)
          workflows++
        }
      }
      const lanes = Promise.all(Array.from({ length: IN_FLIGHT }, lane))
      return {
        async stop() {
          goesOn = false
          await lanes
          return { completed: workflows * leaves.instances, events: workflows * leaves.events }
        },
      }
    },
  }
}
