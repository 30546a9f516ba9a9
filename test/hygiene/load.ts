import { activity, open, type Runtime, stateKey, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/store.ts'
import type { Duration } from '../../src/base/time/duration.ts'

// Workflows at full speed: each has an activity, a value of state and an end, and every tenth a child
// and a timer besides.

/** Workflows that run one after the other, a number of them at once. */
export interface Load extends AsyncDisposable {
  /** Latencies since the last call, in milliseconds. */
  take(): number[]
  /** What went wrong, if anything did. */
  readonly failures: readonly unknown[]
  /** Resolves when those under way have ended; no others begin. */
  stop(): Promise<void>
}

/** Begins to run workflows. */
export async function startLoad(
  store: { readonly url: string; readonly schema: string },
  { retention, atOnce }: { readonly retention: Duration; readonly atOnce: number },
): Promise<Load> {
  const { url, schema } = store
  const definitions = define(retention)
  const runtime = await open(postgres({ url, schema }), {
    register: Object.values(definitions),
  })
  let latencies: number[] = []
  let running = true
  const failures: unknown[] = []

  const line = async (first: number): Promise<void> => {
    for (let n = first; running; n += atOnce) {
      const begun = performance.now()
      try {
        await runOne(runtime, definitions, n)
        latencies.push(performance.now() - begun)
      } catch (error) {
        failures.push(error)
        if (failures.length > 100) running = false
      }
    }
  }
  const lines = Promise.all(Array.from({ length: atOnce }, (_, first) => line(first)))

  return {
    failures,
    take() {
      const taken = latencies
      latencies = []
      return taken
    },
    async stop() {
      running = false
      await lines
    },
    async [Symbol.asyncDispose]() {
      running = false
      await lines
      await runtime.close()
    },
  }
}

type Definitions = ReturnType<typeof define>

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- inferred
function define(retention: Duration) {
  const total = stateKey<number>('total')
  const add = activity('add', async (n: number) => n + 1)
  const part = workflow('part', { retention }, async (n: number, ctx) => ctx.run(add, n))
  const plain = workflow('plain', { retention }, async (n: number, ctx) => {
    const sum = await ctx.run(add, n)
    ctx.state.set(total, sum)
    return sum
  })
  const rich = workflow('rich', { retention }, async (n: number, ctx) => {
    const sum = await ctx.run(part, n)
    await ctx.sleep(5)
    return ctx.run(add, sum)
  })
  return { part, plain, rich }
}

async function runOne(runtime: Runtime, { plain, rich }: Definitions, n: number): Promise<void> {
  await (n % 10 === 0 ? runtime.run(rich, n) : runtime.run(plain, n))
}
