// What metrics and traces cost: the same workflows with and without them, in turns, so that a busy
// machine slows all of them. The time is that of the processor, which others do not change as much.

import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { open, type OpenOptions, type Runtime, workflow } from '../build/index.js'
import { openTelemetry, prometheus } from '../build/telemetry/index.js'
import { median } from './figures.ts'
import type { Row } from './table.ts'

const STEPS = 5

const work = workflow('work', async (n: number, ctx) => {
  let sum = n
  for (let step = 0; step < STEPS; step++) sum += await ctx.step('add', () => 1)
  return sum
})

/** Counts spans, and keeps none. */
class CountingProcessor implements SpanProcessor {
  count = 0

  onStart(): void {}

  onEnd(): void {
    this.count++
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}

type Variant = readonly [name: string, given: Partial<OpenOptions>]

/** Runs the same workflows bare, with metrics, and with traces. */
export async function benchTelemetry(options: { smoke: boolean }): Promise<Row[]> {
  const rows = await compare(options.smoke, [
    ['without', {}],
    ['again without', {}],
    ['prometheus()', { metrics: prometheus() }],
    ['OpenTelemetry without an SDK', openTelemetry(api)],
  ])
  // A tracer that has once found the SDK keeps it: what is above has to be over.
  const spans = new CountingProcessor()
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [spans] }))
  try {
    const { tracing } = openTelemetry(api)
    const traced = await compare(options.smoke, [
      ['without', {}],
      ['OpenTelemetry, traces by the SDK', { tracing }],
    ])
    return [...rows, ...traced, { what: 'spans that the SDK was given', value: `${spans.count}` }]
  } finally {
    api.context.disable()
    api.trace.disable()
  }
}

/** Runs all variants in turns, and compares each with the first. */
async function compare(smoke: boolean, variants: readonly Variant[]): Promise<Row[]> {
  const rounds = smoke ? 2 : 30
  const instances = smoke ? 20 : 400
  const runtimes: Runtime[] = []
  for (const [, given] of variants) {
    runtimes.push(await open('memory:', { register: work, ...given }))
  }
  const times = variants.map((): number[] => [])
  try {
    // The first round warms up.
    for (let round = -1; round < rounds; round++) {
      // Each in its turn is the first: what comes first pays for the garbage of the round before.
      for (const place of runtimes.keys()) {
        const i = (place + round + 1) % runtimes.length
        const micros = await cpuMicros(runtimes[i]!, instances)
        if (round >= 0) times[i]!.push(micros)
      }
    }
  } finally {
    for (const runtime of runtimes) await runtime.close()
  }
  return variants.map(([what], i) => {
    const ratios = times[i]!.map((micros, round) => micros / times[0]![round]!)
    const value = `${median(times[i]!).toFixed(0)} µs, ${median(ratios).toFixed(2)}x`
    return { what: `a workflow of ${STEPS} steps, ${what}: processor time`, value }
  })
}

async function cpuMicros(runtime: Runtime, instances: number): Promise<number> {
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: instances }, (_, i) => runtime.run(work, i)))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / instances
}
