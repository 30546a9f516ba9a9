import * as api from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { activity, channel, type Tracing, workflow } from '../../src/index.ts'
import { type Event, readEvents } from '../../src/store/history.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { openTelemetry } from '../../src/telemetry/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { exporter, inSpan, spanLines, traceThisFile, tracesOf } from './spans.ts'

traceThisFile()

const { tracing } = openTelemetry(api)
const ONCE = { maxAttempts: 1 }
const broken = (): never => {
  throw new Error('broken')
}

const TWICE = { maxAttempts: 2, delay: 1, jitter: false }

function ended(name: string) {
  return exporter.getFinishedSpans().filter((span) => span.name === name)
}

describeOnStores('spans', (kind) => {
  test('instances of a schedule have traces of their own, not the one in which it was set', async () => {
    await using space = await openSpace(kind)
    const nap = workflow('nap', async () => undefined)
    const runtime = await space.open(nap, { tracing })
    const set = () => runtime.schedule('nightly', { cron: '0 3 1 1 *' }, nap)

    await inSpan('deployment', set)
    const before = await runtime.schedules.get('nightly')
    await inSpan('next deployment', set)
    const instance = await runtime.schedules.trigger('nightly')
    await instance.result()

    expect(await runtime.schedules.get('nightly')).toMatchObject({ updatedAt: before!.updatedAt })
    const deployments = [...ended('deployment'), ...ended('next deployment')].map(
      (span) => span.spanContext().traceId,
    )
    const [work] = ended('workflow nap')
    expect(deployments).not.toContain(work!.spanContext().traceId)
  })

  test('show a failed attempt, the next one, and how the workflow ended', async () => {
    await using space = await openSpace(kind)
    let calls = 0
    const flaky = activity('flaky', { retry: TWICE }, async () => {
      if (calls++ === 0) throw new Error('not yet')
    })
    const hopeless = activity('hopeless', { retry: ONCE }, async () => {
      throw new Error('never')
    })
    const work = workflow('work', async (_: undefined, ctx) => {
      await ctx.run(flaky)
      await ctx.run(hopeless)
    })
    const runtime = await space.open(work, { tracing })

    await inSpan('request', () => runtime.run(work, undefined, { id: 'w1' }).catch(() => {}))

    expect(spanLines()).toEqual([
      'activity flaky < start work',
      'activity flaky < start work',
      'activity hopeless < start work',
      'request < nothing',
      'start work < request',
      'turn work < start work',
      'turn work < start work',
      'turn work < start work',
      'workflow work < start work',
    ])
    expect(tracesOf(exporter.getFinishedSpans())).toHaveLength(1)
    const [first, second] = ended('activity flaky')
    expect(first).toMatchObject({
      status: { code: api.SpanStatusCode.ERROR, message: 'not yet' },
      attributes: {
        'holdfast.instance.id': 'w1',
        'holdfast.workflow': 'work',
        'holdfast.execution': 1,
        'holdfast.activity': 'flaky',
        'holdfast.attempt': 1,
        'holdfast.outcome': 'retried',
      },
    })
    expect(second).toMatchObject({
      status: { code: api.SpanStatusCode.UNSET },
      attributes: { 'holdfast.attempt': 2, 'holdfast.outcome': 'completed' },
    })
    expect(ended('workflow work')).toMatchObject([
      {
        status: { code: api.SpanStatusCode.ERROR },
        attributes: { 'holdfast.instance.id': 'w1', 'holdfast.status': 'failed' },
      },
    ])
  })

  test('belong to one trace over all executions, also if the start was not traced', async () => {
    await using space = await openSpace(kind)
    const loops = workflow('loops', async (left: number, ctx) => {
      await ctx.step('note', () => left)
      if (left > 0) return ctx.continueAsNew(left - 1)
      return 'done'
    })
    const runtime = await space.open(loops, { tracing })
    const client = space.connect()

    const { id } = await client.start(loops, 2)
    await runtime.get(loops, id).result()

    await eventually(() => ended('workflow loops').length === 3)
    expect(ended('workflow loops').map(({ attributes }) => attributes['holdfast.status'])).toEqual([
      'continued',
      'continued',
      'completed',
    ])
    expect(tracesOf(exporter.getFinishedSpans())).toHaveLength(1)
  })

  test('are not repeated when an instance is replayed', async () => {
    await using space = await openSpace(kind)
    const go = channel<string>('go')
    const waits = workflow('waits', async (_: undefined, ctx) => {
      await ctx.step('before', () => 1)
      return ctx
        .step('after', async () => (await Promise.resolve(1)) + 1)
        .then(() => ctx.receive(go))
    })
    const first = await space.open(waits, { tracing })
    const { id } = await first.start(waits)
    await eventually(() => ended('step after').length === 1)
    await first.idle()
    await first.close()
    const before = spanLines()
    const second = await space.open(waits, { tracing })

    await second.get(id).send(go, 'now')
    await second.get(id).result()

    const fresh = spanLines()
    for (const line of before) fresh.splice(fresh.indexOf(line), 1)
    expect(fresh).toEqual([
      'send go < nothing',
      'turn waits < start waits',
      'workflow waits < start waits',
    ])
    expect(ended('turn waits').at(-1)!.attributes['holdfast.turn.replayed']).toBe(true)
  })

  test('of a task continue the trace of its instance, and code finds its span active', async () => {
    await using space = await openSpace(kind)
    const seen: (string | undefined)[] = []
    const render = activity('render', { tag: 'gpu' }, async () => {
      await Promise.resolve()
      seen.push(api.trace.getActiveSpan()?.spanContext().spanId)
    })
    const film = workflow('film', async (_: undefined, ctx) => ctx.run(render))
    const runtime = await space.open(film, { tracing })
    await space.open(render, { tracing, tags: ['gpu'] })

    await runtime.run(film)

    await eventually(() => ended('activity render').length === 1)
    expect(spanLines()).toContain('activity render < start film')
    expect(seen).toEqual([ended('activity render')[0]!.spanContext().spanId])
  })

  test('a start that finds its id taken has no span', async () => {
    await using space = await openSpace(kind)
    const hello = workflow('hello', async () => 'hi')
    const runtime = await space.open(hello, { tracing })

    await runtime.run(hello, undefined, { id: 'one' })
    await runtime.run(hello, undefined, { id: 'one' })

    expect(ended('start hello')).toHaveLength(1)
  })

  test('say why an instance was suspended', async () => {
    await using space = await openSpace(kind)
    const strays = workflow('strays', async () => new Promise<void>(() => {}))
    const runtime = await space.open(strays, { tracing })

    const instance = await runtime.start(strays)

    const [span] = await eventually(() => ended('suspend strays'))
    expect(span!.status.message).toMatch('waits for something that is not durable')
    expect(ended('turn strays')).toEqual([])
    await instance.terminate('test')
  })
})

test('a tracing that throws affects nothing, and is logged once', async () => {
  await using space = await openSpace('memory')
  const hello = workflow('hello', async (_: undefined, ctx) => ctx.step('one', () => 1))
  const runtime = await space.open(hello, { tracing: { active: broken, start: broken } })

  expect(await runtime.run(hello)).toBe(1)

  const lines = space.log.lines.filter(({ message }) => message.startsWith('tracing threw'))
  expect(lines).toHaveLength(1)
})

test('activities, steps and workflows run once beside a tracing whose spans throw', async () => {
  await using space = await openSpace('memory')
  let charged = 0
  const charge = activity('charge', () => ++charged)
  const buy = workflow('buy', async (_: undefined, ctx) => {
    return (await ctx.run(charge)) + (await ctx.step('count', () => ++charged))
  })
  const start: Tracing['start'] = () => ({
    context: '',
    run: (code) => (code(), broken()),
    end: broken,
  })
  const runtime = await space.open(buy, { tracing: { active: broken, start } })

  expect(await runtime.run(buy)).toBe(3)

  const lines = space.log.lines.filter(({ message }) => message.startsWith('tracing threw'))
  expect({ charged, lines: lines.length }).toEqual({ charged: 2, lines: 1 })
})

test('a trace is stored with a traced start, and nothing with any other', async () => {
  await using space = await openSpace('memory')
  const hello = workflow('hello', async () => 'hi')
  const traced = space.connect({ tracing })
  const store = (space.store as StoreHandle)[OPEN_WORKFLOW_STORE]()
  await store.open()
  const startedEvent = async (id: string): Promise<Event | undefined> => {
    const [row] = await store.find([id])
    const [turn] = await store.history(row!.iid, 1)
    return readEvents(turn!.events)[0]
  }

  await inSpan('request', () => space.connect().start(hello, undefined, { id: 'untraced' }))
  await inSpan('request', () => traced.start(hello, undefined, { id: 'traced' }))

  expect(await startedEvent('untraced')).not.toHaveProperty('trace')
  const { traceId, spanId } = ended('start hello')[0]!.spanContext()
  expect(await startedEvent('traced')).toMatchObject({ trace: `00-${traceId}-${spanId}-01` })
})
