import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { eventually } from '../support/engine.ts'
import { MemoryMetrics } from '../support/metrics.ts'
import { describeOutbox } from './support.ts'

describeOutbox('metrics of an outbox', (place) => {
  test('count what was delivered, retried and given up, with its delay', async () => {
    const metrics = new MemoryMetrics()
    await using client = connect(place.store, { metrics, log: place.log })
    const box = place.outbox({}, client)
    const numbers = place.topic<number>()
    let tries = 0
    box.handle(numbers, async ({ payload }, ctx) => {
      if (payload === 2 && tries++ === 0) ctx.retry(1)
      if (payload === 3) ctx.reject('odd')
    })

    for (const payload of [1, 2, 3]) await place.send(box, numbers, { payload })
    await place.send(box, numbers, { payload: 4, ttl: 1 })
    const enqueuedAt = Date.now()
    await eventually(() => Date.now() > enqueuedAt + 5)
    await box.drain()

    const labels = { topic: numbers.name }
    expect(metrics.sum('holdfast_outbox_delivered', labels)).toBe(2)
    expect(metrics.sum('holdfast_outbox_retried', labels)).toBe(1)
    expect(metrics.sum('holdfast_outbox_dead', labels)).toBe(1)
    expect(metrics.sum('holdfast_outbox_expired', labels)).toBe(1)
    expect(metrics.values('holdfast_outbox_delivery_ms', labels)).toHaveLength(2)
    expect(
      metrics.values('holdfast_outbox_handler_ms', { ...labels, outcome: 'done' }),
    ).toHaveLength(2)
    expect(metrics.values('holdfast_outbox_handler_ms', labels)).toHaveLength(4)
  })

  test('measure transactional handlers, too', async () => {
    const metrics = new MemoryMetrics()
    await using client = connect(place.store, { metrics, log: place.log })
    const box = place.outbox({}, client)
    const numbers = place.topic<number>()
    box.handleTransactional(numbers, async ({ payload }, ctx) => {
      await ctx.tx.query(
        `insert into ${place.entries} (entry, note) values (${payload}, 'measured')`,
      )
    })

    await place.send(box, numbers, { payload: 71 })
    await box.drain()

    expect(metrics.sum('holdfast_outbox_delivered', { topic: numbers.name })).toBe(1)
    expect(metrics.values('holdfast_outbox_handler_ms', { topic: numbers.name })).toHaveLength(1)
  })
})
