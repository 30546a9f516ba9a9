import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { openPostgresOutbox } from '../../../test/support/outbox-under-test.ts'
import { message, OutboxScene } from '../../testing/outbox-contract/scene.ts'

test('tidying removes old dedupe keys and dead letters, however many there are', async () => {
  const under = await openPostgresOutbox()
  await using scene = new OutboxScene(under)
  const { topic, first } = await scene.topic()
  await under.sql(
    `insert into outbox_keys (topic, key, id, at)
     select ?::integer, 'k' || i, i, 0 from generate_series(1, 25000) as i`,
    topic,
  )
  await scene.deadLetters({ topic, first, name: 'orders', partitions: 1 }, 1)
  await scene.outbox.discardDeadLetters({
    partitions: null,
    state: null,
    limit: null,
    after: null,
  })
  await scene.under.advance(2_000)

  await scene.outbox.tidy({ keysMs: 1_000, lettersMs: 1_000 })

  expect(await scene.under.count('keys')).toBe(0)
  expect(await scene.under.count('dead_letters')).toBe(0)
})

test('who finds that others move the messages that are due tries again a little later', async () => {
  const under = await openPostgresOutbox()
  await using scene = new OutboxScene(under)
  const topic = await scene.topic()
  await scene.enqueue(message(topic, { delayMs: 1_000 }))
  await scene.enqueue(message(topic, { delayMs: 2_000 }))
  await scene.under.advance(3_000)
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  const other = await scene.under.openTransaction()
  await (other.tx as Client).query(
    `select from "${row!.schema}".outbox_delayed order by due_at limit 1 for update`,
  )

  const first = await scene.outbox.moveDelayed()
  const second = await scene.outbox.moveDelayed()
  await other.rollback()
  const third = await scene.outbox.moveDelayed()

  expect(first.partitions).toEqual([topic.first])
  expect(second.partitions).toEqual([])
  for (const { clock, nextAt } of [first, second]) expect(nextAt).toBe(clock + 50)
  expect([third.partitions, third.nextAt]).toEqual([[topic.first], null])
})

test('a claim that reads nothing writes nothing, however often a partition is blocked', async () => {
  const under = await openPostgresOutbox()
  await using scene = new OutboxScene(under)
  const { topic, first } = await scene.topic()
  const courier = await scene.runtime()
  const other = await scene.under.openTransaction()
  await scene.outbox
    .within(other.tx, { notify: false })
    .enqueue([message({ topic, first, name: 'orders', partitions: 1 })])
  const version = () => under.sql('select epoch, ctid, xmin from outbox_partitions')
  const before = await version()

  const claim = () => courier.step(first, { release: 'when-empty' })
  const answers = [await claim(), await claim()]
  const after = await version()
  await other.commit()
  const read = await courier.claim(first)

  expect(answers).toMatchObject([
    { state: 'ok', isReleased: true, isBlocked: true },
    { state: 'ok', isReleased: true, isBlocked: true },
  ])
  expect(after).toEqual(before)
  expect(read).toMatchObject({ epoch: 1, messages: [{ seq: 1 }] })
})
