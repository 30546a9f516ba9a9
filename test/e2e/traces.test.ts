import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { idGenerator, openTelemetry } from '../../src/telemetry/index.ts'
import {
  paid,
  type TracedOrder,
  workflowsOf,
  type WrittenSpan,
  writtenSpan,
} from './programs/traced.ts'
import { openScene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'

const LEASE_MS = 1_000

const ids = idGenerator()
const own = new InMemorySpanExporter()

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(own)],
      idGenerator: ids,
    }),
  )
})
afterEach(() => own.reset())
afterAll(() => {
  api.context.disable()
  api.trace.disable()
})

function readSpans(file: string): readonly WrittenSpan[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as WrittenSpan)
}

/** `name < name of its parent`, with what tells spans of one name apart. */
function shown(spans: readonly WrittenSpan[], all: readonly WrittenSpan[]): string[] {
  const nameOf = (id: string) => all.find(({ spanId }) => spanId === id)?.name ?? id
  return spans
    .map(({ name, parent, links, attributes }) => {
      const above = parent === undefined ? 'nothing' : nameOf(parent)
      const { 'holdfast.turn': turn, 'holdfast.attempt': attempt } = attributes
      const { 'holdfast.outcome': outcome, 'holdfast.status': status } = attributes
      const linked = links.length === 0 ? undefined : `← ${links.map(nameOf).join()}`
      return [name, turn, attempt, outcome, status, '<', above, linked]
        .filter((part) => part !== undefined)
        .join(' ')
    })
    .toSorted()
}

function inSpan<T>(name: string, code: () => Promise<T>): Promise<T> {
  return api.trace.getTracer('test').startActiveSpan(name, async (span) => {
    const result = await code()
    span.end()
    return result
  })
}

describe.each(STORES)('on %s', (_, kind) => {
  test('a trace goes on in another process after a crash, and has each span once', async () => {
    await using scene = openScene(kind())
    const file = join(dirname(scene.ledger), 'spans.jsonl')
    const spawnWith = (dies: boolean) => {
      const order: TracedOrder = { store: scene.store, leaseMs: LEASE_MS, spans: file, dies }
      return spawn(process.execPath, [scene.program('traced'), JSON.stringify(order)], {
        stdio: 'inherit',
      })
    }
    const { order } = workflowsOf(false)
    await using client = connect(storeOf(scene.store), {
      tracing: openTelemetry(api, { idGenerator: ids }).tracing,
    })

    const started = await inSpan('request', () => client.start(order, 'A7'))
    await inSpan('webhook', () => started.send(paid, 'by card'))
    const first = spawnWith(true)
    const [, signal] = (await once(first, 'exit')) as [unknown, string]
    const before = readSpans(file)
    const second = spawnWith(false)
    const result = await started.result({ timeout: '50s' })
    second.kill('SIGTERM')
    await once(second, 'exit')

    expect(signal).toBe('SIGKILL')
    expect(result).toBe('mailed A7')
    const mine = own.getFinishedSpans().map(writtenSpan)
    const written = readSpans(file)
    const all = [...mine, ...written]
    expect(shown(mine, all)).toEqual([
      'request < nothing',
      'send paid < webhook',
      'start order < request',
      'webhook < nothing',
    ])
    // One trace, but for the request that sent the message: that is linked.
    const [trace] = mine.filter(({ name }) => name === 'request').map(({ traceId }) => traceId)
    expect(new Set(written.map(({ traceId }) => traceId))).toEqual(new Set([trace]))
    // The attempt in which the process died has no end, and so no span.
    expect(shown(before, all)).toEqual([
      'activity reserve 1 completed < workflow order',
      'turn order 2 < workflow order',
      'turn order 3 < workflow order ← send paid',
    ])
    const after = written.filter(({ pid }) => pid === second.pid)
    expect(shown(after, all)).toEqual([
      'POST /charges < activity charge',
      'activity charge 1 completed < workflow order',
      'start notify < workflow order',
      'step mail 1 completed < workflow notify',
      'turn notify 1 < workflow notify',
      'turn notify 2 < workflow notify',
      'turn order 4 < workflow order',
      'turn order 5 < workflow order',
      'workflow notify completed < start notify',
      'workflow order completed < start order',
    ])
    expect(written).toHaveLength(before.length + after.length)
  }, 120_000)
})
