import { expect, test } from 'vitest'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

describeOutbox('removal of what is done', (place) => {
  /** How many rows a table of an outbox has. */
  const rows = async (table: string): Promise<number> => {
    const [row] = await place.sql<{ n: number | string }>(`select count(*) as n from ${table}`)
    return Number(row!.n)
  }

  test('messages that are done are removed in the background, and numbers go on [vacuum_deletes_processed_outgoing_and_body_rows] [e2e_happy_path_enqueue_through_reap] [vacuum_counter_bumped_on_processed_seq_advance] [custom_prefix_vacuum_cleans_custom_tables]', async () => {
    const numbers = place.topic<number>()
    const box = place.outbox({ prefix: 'removal_a' })
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()
    await box.stop()

    // Whatever was left is removed at the start.
    const next = place.outbox({ prefix: 'removal_a' })
    next.handle(numbers, run)
    await next.start()
    await eventually(async () => (await rows('removal_a_messages')) === 0)
    await place.send(next, numbers, { payload: 4 })
    await next.drain()

    expect(seen.map(({ seq }) => seq)).toEqual(upTo(4))
  })

  test('messages that are not done stay [vacuum_preserves_unprocessed_rows] [vacuum_skips_when_processed_seq_is_zero]', async () => {
    const numbers = place.topic<number>(2)
    const box = place.outbox({ prefix: 'removal_b' })
    const { promise, resolve } = deferred()
    box.handle(
      numbers,
      async ({ payload }) => {
        if (payload === 4) await promise
      },
      { batchSize: 1 },
    )
    await place.send(box, numbers, ...items(upTo(5), { partition: 0 }))
    await box.start()
    await eventually(() => box.health().totals.delivered === 3)
    const remover = place.outbox({ prefix: 'removal_b' })
    await remover.start()

    await eventually(async () => (await rows('removal_b_messages')) === 2)
    const [stat] = await box.stats()
    resolve()
    await box.drain()

    expect(stat!.depth).toBe(2)
    expect(box.health().totals.delivered).toBe(5)
  })

  test('two processes that remove at the same time do no harm [vacuum_concurrent_workers_safe] [vacuum_counter_decrement_is_idempotent] [vacuum_counter_preserves_concurrent_bumps] [vacuum_stale_counter_reset]', async () => {
    const numbers = place.topic<number>(4)
    const box = place.outbox({ prefix: 'removal_c' })
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, ...items(upTo(100)))
    await box.drain()
    const others = [1, 2, 3].map(() => place.outbox({ prefix: 'removal_c' }))

    await Promise.all(others.map((other) => other.start()))
    await eventually(async () => (await rows('removal_c_messages')) === 0)

    expect(seen).toHaveLength(100)
  })

  test('dedupe keys are remembered for as long as the outbox says', async () => {
    const numbers = place.topic<number>()
    const forgetful = { prefix: 'removal_d', dedupeWindow: 1 } as const
    const box = place.outbox(forgetful)
    await place.send(box, numbers, { payload: 1, dedupeKey: 'k' })

    const client = place.client()
    await eventually(async () => {
      // It tidies at its start.
      await place.outbox(forgetful, client).start()
      return (await rows('removal_d_keys')) === 0
    })
    const transaction = await place.begin()
    const answer = await box.in(transaction.tx).enqueue(numbers, 2, { dedupeKey: 'k' })
    await transaction.commit()

    expect(answer.duplicate).toBe(false)
  })

  test('dead letters that are done with are removed after a while', async () => {
    const numbers = place.topic<number>()
    const options = { prefix: 'removal_e', deadLetterRetention: 1 } as const
    const box = place.outbox(options)
    box.handle(numbers, async (_, ctx) => ctx.reject('no'))
    await place.send(box, numbers, ...items([1, 2]))
    await box.drain()
    await box.deadLetters.discard({ limit: 1 })

    const client = place.client()
    await eventually(async () => {
      await place.outbox(options, client).start()
      return (await box.deadLetters.count({ status: 'any' })) === 1
    })

    expect(await box.deadLetters.count()).toBe(1)
  })
})
