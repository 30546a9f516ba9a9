import { expectTypeOf, test } from 'vitest'
import type { EnqueueItem } from './enqueue.ts'
import type { BatchContext } from './handlers.ts'
import type { Message } from './message.ts'
import type { Outbox } from './outbox.ts'
import { type Topic, topic } from './topic.ts'

const dates: Topic<string, Date> = topic<Date, string>('dates')

test('handlers receive what the schema of a topic returns', () => {
  expectTypeOf((box: Outbox): void => {
    box.handle(dates, async (message) => {
      expectTypeOf(message).toEqualTypeOf<Message<Date>>()
    })
    box.handleTransactional(dates, async ({ payload }, { tx }) => {
      expectTypeOf(payload).toEqualTypeOf<Date>()
      expectTypeOf(await tx.query('select 1')).toHaveProperty('rows')
    })
    box.handleBatch(dates, async (messages, ctx) => {
      expectTypeOf(messages).toEqualTypeOf<readonly Message<Date>[]>()
      expectTypeOf(ctx).toEqualTypeOf<BatchContext<Date>>()
    })
  }).toBeFunction()
})

test('producers pass what the schema of a topic takes', () => {
  expectTypeOf(async (box: Outbox): Promise<void> => {
    const inside = box.in({})
    expectTypeOf(await inside.enqueue(dates, '2030-01-01', { key: 'k' })).toEqualTypeOf<{
      readonly id: string
      readonly duplicate: boolean
    }>()
    expectTypeOf(await inside.enqueueMany(dates, [{ payload: '2030-01-01' }])).toEqualTypeOf<
      readonly string[]
    >()
    // @ts-expect-error -- a handler gets a Date, a producer passes a string
    await inside.enqueue(dates, new Date())
    // @ts-expect-error -- a message of a list has a payload
    await inside.enqueueMany(dates, [{ key: 'k' }])
  }).toBeFunction()
  expectTypeOf<EnqueueItem<string>['payload']>().toBeString()
})

test('a transactional handler has no lease', () => {
  expectTypeOf((box: Outbox): void => {
    // @ts-expect-error -- its transaction is its lease
    box.handleTransactional(dates, async () => {}, { lease: '1s' })
  }).toBeFunction()
})
