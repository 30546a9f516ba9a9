import { expect, test } from 'vitest'

import type { DeadLettersAnswer, OutboxAnswer, OverviewAnswer } from '../../src/dashboard/api.ts'
import type { QueueAnswer } from '../../src/dashboard/api.ts'
import { connect } from '../../src/index.ts'
import { openQueue } from '../../src/queue/index.ts'
import { describeOutbox } from '../outbox/support.ts'
import { eventually } from '../support/engine.ts'
import { tempFile } from '../support/sqlite.ts'
import { silentLog } from '../../src/base/log.ts'
import { ask, query } from './shown.ts'

describeOutbox('the outbox over HTTP', (place) => {
  test('it shows depth and dead letters, puts them back, and gives them up', async () => {
    const client = place.client()
    const box = place.outbox({}, client)
    const mails = place.topic<{ to: string; at: Date }>(2)
    let accepts = false
    box.handle(
      mails,
      async (_, ctx) => {
        if (!accepts) ctx.reject('no such <script>alert(1)</script> address')
      },
      { maxAttempts: 1 },
    )
    await box.start()
    await place.send(box, mails, ...[1, 2, 3].map((n) => ({ payload: mail(n), key: `k${n}` })))
    const shown = ask(client, { outbox: box })
    const letters = `api/outbox/dead-letters?${query({ topic: mails.name })}`

    const dead = await eventually(async () => {
      const found = await shown.get<DeadLettersAnswer>(letters)
      return found.items.length === 3 && found
    })
    expect(dead.items[0]).toMatchObject({
      status: 'pending',
      reason: 'no such <script>alert(1)</script> address',
      message: { topic: mails.name },
    })
    expect(dead.items[0]!.message.payload.shown).toMatchObject({ at: { $: 'date' } })
    const first = await shown.get<DeadLettersAnswer>(`${letters}&limit=2`)
    const rest = await shown.get<DeadLettersAnswer>(`${letters}&limit=2&after=${first.next}`)
    expect([...first.items, ...rest.items]).toEqual(dead.items)
    const { partitions, dead: counts } = await shown.get<OutboxAnswer>('api/outbox')
    expect(partitions.filter(({ topic }) => topic === mails.name).length).toBe(2)
    expect(counts).toContainEqual({ topic: mails.name, count: 3 })
    expect((await shown.get<OverviewAnswer>('api/overview')).outbox!.dead).toBe(3)

    accepts = true
    const { id } = dead.items[0]!
    expect(await shown.post('api/outbox/requeue', { ids: [id] })).toEqual({ count: 1 })
    expect(await shown.post('api/outbox/discard', { topic: mails.name })).toEqual({ count: 2 })
    await box.drain({ timeout: '10s' })
    expect((await shown.get<DeadLettersAnswer>(letters)).items).toEqual([])
  })
})

function mail(n: number): { to: string; at: Date } {
  return { to: `kim-${n}`, at: new Date(0) }
}

test('a queue shows its messages and dead letters, tries them again, and discards them', async () => {
  using file = tempFile()
  await using queue = await openQueue<unknown>(file.path, { maxAttempts: 1, log: silentLog })
  await queue.pushMany([new Date(0), 2n, 'x'.repeat(10_000)])
  for (let i = 0; i < 2; i++) await (await queue.take())!.nack({ reason: 'no' })
  await using client = connect('memory:')
  const shown = ask(client, { queues: { mails: queue } })

  expect(await shown.get('api/queues')).toMatchObject({
    items: [{ name: 'mails', counts: { total: 3, ready: 1, dead: 2 } }],
  })
  const all = await shown.get<QueueAnswer>('api/queue?name=mails&limit=2')
  expect(all.items).toMatchObject([
    { data: { shown: { $: 'date' } }, reason: 'no' },
    { data: { shown: { $: 'bigint', v: '2' } } },
  ])
  const rest = await shown.get<QueueAnswer>(`api/queue?name=mails&limit=2&after=${all.next}`)
  expect(rest).toMatchObject({
    items: [{ data: { shown: { $: 'text', length: 10_000 }, truncated: true } }],
  })
  expect(rest).not.toHaveProperty('next')
  const dead = await shown.get<QueueAnswer>('api/queue?name=mails&dead=true')
  const [one, other] = dead.items.map(({ id }) => id)
  expect(await shown.post('api/queue/retry', { name: 'mails', ids: [one] })).toEqual({ count: 1 })
  expect(await shown.post('api/queue/discard', { name: 'mails', ids: [other, 99] })).toEqual({
    count: 1,
  })
  expect(queue.counts).toMatchObject({ total: 2, dead: 0 })
  expect((await shown.fetch('api/queue?name=others')).status).toBe(404)
})

test('without an outbox, a queue or a doctor it says what is missing', async () => {
  await using client = connect('memory:')
  const shown = ask(client)

  for (const [path, words] of [
    ['api/outbox', 'the option outbox'],
    ['api/outbox/dead-letters', 'no outbox'],
    ['api/doctor', 'the option doctor'],
  ] as const) {
    const response = await shown.fetch(path)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain(words.replace('the option outbox', 'its option outbox'))
  }
  expect(await shown.get('api/queues')).toEqual({ items: [] })
  const examined = ask(client, {
    doctor: async () => [
      { level: 'ok', what: 'a', detail: '', fix: '' },
      { level: 'error', what: 'b', detail: '', fix: '' },
    ],
  })
  expect(await examined.get('api/doctor')).toMatchObject({
    findings: [{ what: 'b' }, { what: 'a' }],
  })
})
