// A process that runs traced workflows: `traced.ts <order as JSON>`. Its spans go to a file, so that they
// outlive it. With `dies` it kills itself in the middle of an activity; otherwise it runs until SIGTERM.

import { appendFileSync } from 'node:fs'
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import { activity, channel, open, workflow } from '../../../src/index.ts'
import { idGenerator, openTelemetry } from '../../../src/telemetry/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'

/** What such a process is given. */
export interface TracedOrder {
  readonly store: StorePlace
  readonly leaseMs: number
  readonly spans: string
  readonly dies: boolean
}

/** A span, as it is written. */
export interface WrittenSpan {
  readonly pid: number
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
}

/** What is written about a span. */
export function writtenSpan(span: ReadableSpan): WrittenSpan {
  const { traceId, spanId } = span.spanContext()
  const { name, parentSpanContext } = span
  const attributes = span.attributes as WrittenSpan['attributes']
  const parent = parentSpanContext?.spanId
  const links = span.links.map(({ context }) => context.spanId)
  return { pid: process.pid, name, traceId, spanId, parent, links, attributes }
}

/** The customer has paid. */
export const paid = channel<string>('paid')

/** The workflows, for the process that starts them and for those that run them. */
export function workflowsOf(dies: boolean) {
  const reserve = activity('reserve', async (id: string) => `reserved ${id}`)
  const charge = activity('charge', async (id: string) => {
    if (dies) {
      process.kill(process.pid, 'SIGKILL')
      // It takes a moment until the process is gone.
      for (;;);
    }
    // The code of the user has spans of its own.
    return api.trace.getTracer('shop').startActiveSpan('POST /charges', (span) => {
      span.end()
      return `charged ${id}`
    })
  })
  const notify = workflow('notify', async (id: string, ctx) =>
    ctx.step('mail', () => `mailed ${id}`),
  )
  const order = workflow('order', async (id: string, ctx) => {
    await ctx.run(reserve, id)
    await ctx.receive(paid)
    await ctx.run(charge, id)
    return ctx.run(notify, id)
  })
  return { order, notify }
}

const ids = idGenerator()

async function main({ store, leaseMs, spans, dies }: TracedOrder): Promise<void> {
  const exporter: SpanExporter = {
    export(ended, done) {
      appendFileSync(spans, ended.map((span) => `${JSON.stringify(writtenSpan(span))}\n`).join(''))
      done({ code: 0 })
    },
    shutdown: async () => {},
  }
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
      idGenerator: ids,
    }),
  )
  const { tracing } = openTelemetry(api, { idGenerator: ids })
  const register = Object.values(workflowsOf(dies))
  const runtime = await open(storeOf(store), { register, tracing, lease: leaseMs })
  process.once('SIGTERM', () => void runtime.close())
}

// Its workflows are needed elsewhere, too.
if (process.argv[2]?.startsWith('{')) await main(JSON.parse(process.argv[2]) as TracedOrder)
