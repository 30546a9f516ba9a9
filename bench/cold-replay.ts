// How long it takes to get a long instance back into memory: read its rows, parse them, and run the
// code through them.

import { activity, type AnyWorkflow, workflow } from '../build/index.js'
import { callCode, type ContextHost } from '../build/engine/context/make-context.js'
import type { WorkflowContext } from '../build/engine/define/workflow-context.js'
import type { WorkflowDefinition } from '../build/engine/define/definitions.js'
import { Execution } from '../build/engine/replay/execution.js'
import { replay } from '../build/engine/replay/replay.js'
import { beginTurn, endTurn, untilDone } from '../build/engine/replay/current-turn.js'
import { LiveInstance } from '../build/engine/instance/live-instance.js'
import { insideExecution } from '../build/engine/core/unhandled-rejections.js'
import { DEFAULT_LIMITS, LimitGuard } from '../build/engine/core/limits.js'
import { valuesOf } from '../build/engine/core/values.js'
import { defaultLog } from '../build/base/log.js'
import type { Loaded } from '../build/store/claims.js'
import { readEvents } from '../build/store/history.js'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../build/store/store.js'
import { type Place, withRuntime } from './holdfast.ts'

/** Milliseconds, by part. */
export interface Replayed {
  readonly load: number
  readonly parse: number
  readonly replay: number
}

const values = valuesOf(undefined)
const noop = activity('noop', (step: number) => step)

/** Creates an instance with this many events and loads it several times. */
export async function coldReplay(
  place: Place,
  { events, rounds }: { readonly events: number; readonly rounds: number },
): Promise<Replayed[]> {
  const id = 'long'
  let asleep!: () => void
  const sleeps = new Promise<void>((resolve) => (asleep = resolve))
  const long = workflow<number, void>('long', async (steps, ctx) => {
    for (let step = 0; step < steps; step++) await ctx.run(noop, step)
    await ctx.step('last', () => asleep())
    await ctx.sleep('1d')
  })
  await withRuntime(place.store(), [noop, long], async (runtime) => {
    await runtime.start(long, events / 2, { id })
    await sleeps
  })

  const store = (place.store() as StoreHandle)[OPEN_WORKFLOW_STORE]()
  await store.open()
  try {
    const [row] = await store.find([id])
    const took: Replayed[] = []
    for (let round = 0; round < rounds; round++) {
      const beganMs = performance.now()
      const [loaded] = await store.load([{ iid: row!.iid, after: 0 }])
      const loadMs = performance.now() - beganMs
      took.push({ load: loadMs, ...(await bringBack(loaded!, long, events)) })
    }
    return took
  } finally {
    await store.close()
  }
}

/** The part that needs no store, as the runtime does it. */
async function bringBack(
  loaded: Loaded,
  workflowCode: AnyWorkflow,
  events: number,
): Promise<{ parse: number; replay: number }> {
  const definition = workflowCode as WorkflowDefinition
  const beganMs = performance.now()
  const past = loaded.history.map(({ at, events: texts }) => ({ at, events: readEvents(texts) }))
  const parsedMs = performance.now()
  const run = new Execution('bench', values)
  const { iid, id, parent, execution } = loaded
  const input = values.encode(events / 2, 'input')
  const started = { seed: '0'.repeat(32), parentId: '', state: '' }
  const facts = { iid, id, definition, run, input, started, parent, execution }
  const instance = LiveInstance.loaded(facts, loaded, past)
  const host: ContextHost = {
    values,
    log: defaultLog,
    guard: new LimitGuard(DEFAULT_LIMITS, defaultLog, () => 0),
    registry: { activity: () => undefined, latest: () => undefined, learn: () => {} },
    serves: () => true,
  }
  const code = (ctx: WorkflowContext): Promise<unknown> =>
    definition.run!(values.value(instance.input) as never, ctx)
  await beginTurn(run)
  try {
    await untilDone(
      replay(run, past, 0, () =>
        run.begin(() => insideExecution(run, () => callCode(instance, host, code))),
      ),
    )
  } finally {
    endTurn()
  }
  const endMs = performance.now()
  run.drop()
  return { parse: parsedMs - beganMs, replay: endMs - parsedMs }
}
