import * as api from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { openTelemetry } from '../../src/telemetry/index.ts'
import { describeOutbox } from '../outbox/support.ts'
import { exporter, inSpan, spanLines, traceThisFile, tracesOf } from './spans.ts'

traceThisFile()

const { tracing } = openTelemetry(api)

describeOutbox('spans of an outbox', (place) => {
  test('continue the trace of the code that enqueued the message', async () => {
    await using client = connect(place.store, { tracing, log: place.log })
    const box = place.outbox({}, client)
    const mails = place.topic<string>()
    let tries = 0
    box.handle(mails, async (_, ctx) => {
      await inSpan('smtp', async () => {})
      if (tries++ === 0) ctx.retry(1)
    })

    await inSpan('request', () => place.send(box, mails, { payload: 'hello' }))
    await box.drain()

    const name = `deliver ${mails.name}`
    expect(spanLines()).toEqual([
      `${name} < request`,
      `${name} < request`,
      'request < nothing',
      `smtp < ${name}`,
      `smtp < ${name}`,
    ])
    expect(tracesOf(exporter.getFinishedSpans())).toHaveLength(1)
    const outcomes = exporter
      .getFinishedSpans()
      .filter((span) => span.name === name)
      .map(({ attributes }) => [attributes['holdfast.attempt'], attributes['holdfast.outcome']])
    expect(outcomes).toEqual([
      [1, 'retry'],
      [2, 'done'],
    ])
  })

  test('of a transactional handler are active in it', async () => {
    await using client = connect(place.store, { tracing, log: place.log })
    const box = place.outbox({}, client)
    const numbers = place.topic<number>()
    const seen: (string | undefined)[] = []
    box.handleTransactional(numbers, async ({ payload }, ctx) => {
      await ctx.tx.query(`insert into ${place.entries} values ($1, $2)`, [payload, 'traced'])
      seen.push(api.trace.getActiveSpan()?.spanContext().traceId)
    })

    await inSpan('request', () => place.send(box, numbers, { payload: 73 }))
    await box.drain()

    expect(seen).toEqual(tracesOf(exporter.getFinishedSpans()))
  })

  test('of a batch link to the traces of its messages', async () => {
    await using client = connect(place.store, { tracing, log: place.log })
    const box = place.outbox({}, client)
    const numbers = place.topic<number>()
    box.handleBatch(numbers, async () => {})

    await inSpan('one', () => place.send(box, numbers, { payload: 1 }))
    await inSpan('two', () => place.send(box, numbers, { payload: 2 }))
    await box.drain()

    const spans = exporter.getFinishedSpans()
    const batches = spans.filter(({ name }) => name.startsWith('deliver'))
    const linked = batches.flatMap(({ links }) => links.map(({ context }) => context.spanId))
    const sent = spans.filter(({ name }) => name === 'one' || name === 'two')
    expect(linked).toEqual(sent.map((span) => span.spanContext().spanId))
  })

  test('a traceparent of the user stays', async () => {
    await using client = connect(place.store, { tracing, log: place.log })
    const box = place.outbox({}, client)
    const mails = place.topic<string>()
    const seen: unknown[] = []
    box.handle(mails, async ({ headers }) => void seen.push(headers))
    const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tenant: 'north' }

    await inSpan('request', () => place.send(box, mails, { payload: 'hello', headers }))
    await box.drain()

    expect(seen).toEqual([headers])
  })
})
