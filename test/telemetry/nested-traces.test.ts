// With an id generator, spans of an instance are below a span of their own, which is reported at its end.

import * as api from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { activity, channel, open, request, workflow } from '../../src/index.ts'
import { openDatabase } from '../../src/sqlite/index.ts'
import { idGenerator, openTelemetry } from '../../src/telemetry/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { tempFile } from '../support/sqlite.ts'
import { exporter, inSpan, linksOf, spanLines, traceThisFile, tracesOf } from './spans.ts'

const ids = idGenerator()

traceThisFile(ids)

const { tracing } = openTelemetry(api, { idGenerator: ids })

function ended(name: string) {
  return exporter.getFinishedSpans().filter((span) => span.name === name)
}

const charge = activity('charge', { retry: { maxAttempts: 2, delay: 1 } }, async (_, ctx) => {
  if (ctx.attempt === 1) throw new Error('not yet')
})
const ship = workflow('ship', async (_: undefined, ctx) => ctx.step('pack', () => 'packed'))
const order = workflow('order', async (_: undefined, ctx) => {
  await ctx.run(charge, undefined)
  return ctx.run(ship, undefined)
})

describeOnStores('spans below the span of their instance', (kind) => {
  test('are turns, attempts and children', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open([order, ship], { tracing })

    await inSpan('request', () => runtime.run(order, undefined))

    await eventually(() => ended('workflow order').length === 1)
    expect(spanLines()).toEqual([
      'activity charge < workflow order',
      'activity charge < workflow order',
      'request < nothing',
      'start order < request',
      'start ship < workflow order',
      'step pack < workflow ship',
      'turn order < workflow order',
      'turn order < workflow order',
      'turn order < workflow order',
      'turn ship < workflow ship',
      'turn ship < workflow ship',
      'workflow order < start order',
      'workflow ship < start ship',
    ])
    expect(tracesOf(exporter.getFinishedSpans())).toHaveLength(1)
  })

  test('have no missing parent if the start was not traced, over all executions', async () => {
    await using space = await openSpace(kind)
    const loops = workflow('loops', async (left: number, ctx) => {
      await ctx.step('note', () => left)
      return left === 0 ? 'done' : ctx.continueAsNew(left - 1)
    })
    const runtime = await space.open(loops, { tracing })

    const { id } = await space.connect().start(loops, 1)
    await runtime.get(loops, id).result()

    await eventually(() => ended('workflow loops').length === 2)
    expect(new Set(spanLines())).toEqual(
      new Set([
        'step note < workflow loops',
        'turn loops < workflow loops',
        'workflow loops < nothing',
        'workflow loops < workflow loops',
      ]),
    )
    expect(tracesOf(exporter.getFinishedSpans())).toHaveLength(1)
  })

  test('are those of a task in another runtime, too', async () => {
    await using space = await openSpace(kind)
    const render = activity('render', { tag: 'gpu' }, async () => 'done')
    const film = workflow('film', async (_: undefined, ctx) => ctx.run(render))
    const runtime = await space.open(film, { tracing })
    await space.open(render, { tracing, tags: ['gpu'] })

    await runtime.run(film)

    await eventually(() => ended('activity render').length === 1)
    expect(spanLines()).toContain('activity render < workflow film')
  })

  test('of a fork are apart from those of its origin', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(ship, { tracing })
    const origin = await runtime.start(ship)
    await origin.result()

    const fork = await origin.fork({ at: 1 })
    await fork.result()

    await eventually(() => ended('workflow ship').length === 2)
    const [first, second] = ended('workflow ship').map((span) => span.spanContext().spanId)
    expect(first).not.toBe(second)
    expect(ended('step pack').map((span) => span.parentSpanContext?.spanId)).toEqual([
      first,
      second,
    ])
  })
})

const go = channel<string>('go')
const ask = request<string, string>('ask')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))

describeOnStores('a message carries the trace of its sender', (kind) => {
  test('of a client: the turn that receives it has a link to the send', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits, { tracing })
    const client = space.connect({ tracing })
    const { id } = await runtime.start(waits)

    await inSpan('webhook', () => client.get(id).send(go, 'now'))
    const result = await runtime.get(waits, id).result()

    expect(result).toBe('now')
    expect(spanLines()).toContain('send go < webhook')
    await eventually(() => ended('workflow waits').length === 1)
    expect(linksOf(ended('turn waits').at(-1))).toEqual(['send go'])
    expect(ended('send go')[0]).toMatchObject({
      kind: api.SpanKind.PRODUCER,
      attributes: { 'holdfast.channel': 'go', 'holdfast.instance.id': id },
    })
    // Each keeps its trace.
    expect(tracesOf([...ended('webhook'), ...ended('workflow waits')])).toHaveLength(2)
  })

  test('of a workflow: the send is below the span of its instance', async () => {
    await using space = await openSpace(kind)
    const sends = workflow('sends', async (to: string, ctx) => ctx.get(to).send(go, 'now'))
    const runtime = await space.open([waits, sends], { tracing })
    const { id } = await runtime.start(waits)

    await runtime.run(sends, id)
    await runtime.get(id).result()

    await eventually(() => ended('workflow waits').length === 1)
    expect(spanLines()).toContain('send go < workflow sends')
    expect(linksOf(ended('turn waits').at(-1))).toEqual(['send go'])
  })

  test('of a request, which is answered', async () => {
    await using space = await openSpace(kind)
    const answers = workflow('answers', async (_: undefined, ctx) => {
      const asked = await ctx.receive(ask)
      asked.reply(`${asked.input}!`)
    })
    const runtime = await space.open(answers, { tracing })
    const { id } = await runtime.start(answers)

    const answer = await inSpan('question', () => runtime.get(id).request(ask, 'why'))

    expect(answer).toBe('why!')
    await eventually(() => ended('workflow answers').length === 1)
    expect(spanLines()).toContain('send ask < question')
    expect(linksOf(ended('turn answers').at(-1))).toEqual(['send ask'])
  })

  test('that is not traced, to a runtime that is', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits, { tracing })
    const { id } = await runtime.start(waits)

    await space.connect().get(id).send(go, 'now')

    expect(await runtime.get(id).result()).toBe('now')
    await eventually(() => ended('workflow waits').length === 1)
    expect(ended('turn waits').at(-1)!.links).toEqual([])
  })

  test('that is traced, to a runtime that is not', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(waits)
    const { id } = await runtime.start(waits)

    await space.connect({ tracing }).get(id).send(go, 'now')

    expect(await runtime.get(id).result()).toBe('now')
    const events = []
    for await (const event of runtime.get(id).history()) events.push(event)
    expect(events.find(({ type }) => type === 'received')?.data).toEqual({
      command: 1,
      value: 'now',
      replyTo: '',
    })
  })
})

test('a message in a transaction carries the trace of the active span', async () => {
  using file = tempFile()
  await using runtime = await open(`file:${file.path}`, { register: waits, tracing })
  const shop = openDatabase({ path: file.path })
  const { id } = await runtime.start(waits)

  await inSpan('webhook', async () => {
    shop.exec('begin immediate')
    await runtime.in(shop).send(id, go, 'now')
    shop.exec('commit')
  })
  await runtime.get(id).result()

  shop.close()
  await eventually(() => ended('workflow waits').length === 1)
  expect(ended('send go')).toEqual([])
  expect(linksOf(ended('turn waits').at(-1))).toEqual(['webhook'])
})

test('an SDK without the id generator is reported once, and nothing else breaks', async () => {
  await using space = await openSpace('memory')
  const other = openTelemetry(api, { idGenerator: idGenerator() })
  const runtime = await space.open(ship, { tracing: other.tracing })

  expect(await runtime.run(ship)).toBe('packed')
  expect(await runtime.run(ship)).toBe('packed')

  const lines = space.log.lines.filter(({ message }) => message.startsWith('tracing threw'))
  expect(lines).toHaveLength(1)
  expect(String(lines[0]!.data['err'])).toContain('pass it to both: new NodeSDK({ idGenerator })')
})
