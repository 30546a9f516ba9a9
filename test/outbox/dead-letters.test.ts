import { expect, test } from 'vitest'
import type { Outbox, Topic } from '../../src/outbox/index.ts'
import { eventually } from '../support/engine.ts'
import { describeOutbox, items, type OutboxPlace, upTo } from './support.ts'

/** Has messages become dead letters: one for each payload. */
async function buried(
  place: OutboxPlace,
  payloads: readonly number[],
  { partitions = 1, partition = 0 } = {},
): Promise<{ readonly box: Outbox; readonly numbers: Topic<number>; readonly topic: string }> {
  const box = place.outbox()
  const numbers = place.topic<number>(partitions)
  box.handle(numbers, async ({ payload, attempt }, ctx) => {
    if (attempt === 1 && payload > 0) ctx.reject(`reason ${payload}`)
  })
  await place.send(box, numbers, ...items(payloads, { partition, key: 'k', headers: { h: 'v' } }))
  await box.drain()
  return { box, numbers, topic: numbers.name }
}

describeOutbox('dead letters', (place) => {
  test('a list has all that is known of each, newest first [dead_letter_list_returns_correct_fields] [select_includes_new_columns]', async () => {
    const { box, topic } = await buried(place, [1, 2, 3])

    const { items: letters, next } = await box.deadLetters.list({ topic })

    expect(letters.map(({ message }) => message.payload)).toEqual([3, 2, 1])
    expect(letters[2]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      message: {
        id: expect.stringMatching(/^\d+$/),
        topic,
        key: 'k',
        partition: 0,
        seq: 1,
        payload: 1,
        attempt: 1,
        headers: { h: 'v' },
        enqueuedAt: expect.any(Date),
      },
      status: 'pending',
      reason: 'reason 1',
      failedAt: expect.any(Date),
    })
    expect(next).toBeUndefined()
  })

  test('a count is how many a list has, whatever its limit [dead_letter_count_matches_list] [count_query_has_no_order_by]', async () => {
    const { box, topic } = await buried(place, upTo(5))

    expect(await box.deadLetters.count({ topic })).toBe(5)
    expect(await box.deadLetters.count({ topic, limit: 2 })).toBe(5)
    expect(await box.deadLetters.count({ topic: 'unknown' })).toBe(0)
  })

  test('a list can be limited, and read page by page [dead_letter_filter_with_limit] [build_select_query_respects_explicit_limit]', async () => {
    const { box, topic } = await buried(place, upTo(5))
    const pages: number[][] = []
    for (let after: string | undefined; ;) {
      const page = await box.deadLetters.list({ topic, limit: 2, ...(after && { after }) })
      pages.push(page.items.map(({ message }) => message.payload as number))
      after = page.next
      if (after === undefined) break
    }

    expect(pages).toEqual([[5, 4], [3, 2], [1]])
  })

  test('a list has a hundred at most by default [build_select_query_applies_default_limit]', async () => {
    const { box, topic } = await buried(place, upTo(105))

    const first = await box.deadLetters.list({ topic })
    const rest = await box.deadLetters.list({ topic, after: first.next! })

    expect([first.items.length, rest.items.length]).toEqual([100, 5])
  })

  test('letters are found by partition [dead_letter_filter_by_partition] [build_query_partition_filter_pg] [build_query_all_fields_pg]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(4)
    box.handle(numbers, async (_, ctx) => ctx.reject('no'))
    await place.send(
      box,
      numbers,
      ...[1, 2, 2].map((partition) => ({ payload: partition, partition })),
    )
    await box.drain()
    const of = (partition: number) =>
      box.deadLetters.count({ topic: numbers.name, partition, status: 'pending', limit: 10 })

    expect([await of(0), await of(1), await of(2), await of(99)]).toEqual([0, 1, 2, 0])
    await expect(box.deadLetters.list({ partition: 1 })).rejects.toThrow(
      new TypeError('deadLetters.list: partition needs a topic'),
    )
  })

  test('letters are found by status, pending ones by default [build_query_empty_filter_pg] [filter_by_resolved_status] [filter_by_reprocessing_status] [filter_no_status] [status_display_and_parse]', async () => {
    const { box, topic } = await buried(place, upTo(4))
    const [first] = await box.deadLetters.replay({ topic, limit: 1 })
    await box.deadLetters.resolve([first!.id])
    await box.deadLetters.replay({ topic, limit: 1 })
    const count = (status?: 'pending' | 'resolved' | 'reprocessing' | 'discarded' | 'any') =>
      box.deadLetters.count({ topic, ...(status && { status }) })

    expect(await count()).toBe(2)
    expect(await count('pending')).toBe(2)
    expect(await count('resolved')).toBe(1)
    expect(await count('reprocessing')).toBe(1)
    expect(await count('discarded')).toBe(0)
    expect(await count('any')).toBe(4)
  })

  test('a replay takes the oldest ones, and answers how they are now [dead_letter_replay_claims_and_sets_reprocessing] [replay_claim_sets_deadline]', async () => {
    const { box, topic } = await buried(place, upTo(3))
    const began = Date.now()

    const taken = await box.deadLetters.replay({ topic, limit: 2 }, { deadline: '1m' })

    expect(taken.map(({ message, status }) => [message.payload, status])).toEqual([
      [1, 'reprocessing'],
      [2, 'reprocessing'],
    ])
    const inMs = taken[0]!.deadline!.getTime() - began
    expect(inMs).toBeGreaterThan(50_000)
    expect(inMs).toBeLessThan(70_000)
  })

  test('two replays take different letters [replay_query_pg_has_for_update] [replay_query_sqlite_no_for_update] [replay_claim_sqlite] [untested_dead_letter_sql_live]', async () => {
    const { box, topic } = await buried(place, upTo(6))
    const other = place.outbox()

    const taken = await Promise.all([
      box.deadLetters.replay({ topic, limit: 3 }),
      other.deadLetters.replay({ topic, limit: 3 }),
    ])

    expect(
      taken
        .flat()
        .map(({ message }) => message.payload as number)
        .toSorted((a, b) => a - b),
    ).toEqual(upTo(6))
  })

  test('a letter whose replay missed its deadline can be taken again [replay_query_includes_orphan_recovery]', async () => {
    const { box, topic } = await buried(place, [1])
    const [first] = await box.deadLetters.replay({ topic }, { deadline: 1 })

    const again = await eventually(() => box.deadLetters.replay({ topic }, { deadline: '1m' }))

    expect(again).toMatchObject([{ id: first!.id, status: 'reprocessing' }])
    expect(await box.deadLetters.replay({ topic })).toEqual([])
  })

  test('a letter is taken, handled and resolved [dead_letter_full_replay_roundtrip] [e2e_reject_replay_success] [resolve_sql_per_backend] [resolve_uses_db_now]', async () => {
    const { box, topic } = await buried(place, [1])
    const [letter] = await box.deadLetters.replay({ topic })

    const resolved = await box.deadLetters.resolve([letter!.id])

    const { items: letters } = await box.deadLetters.list({ topic, status: 'resolved' })
    expect(resolved).toBe(1)
    expect(letters).toMatchObject([{ id: letter!.id, status: 'resolved' }])
    expect(Math.abs(letters[0]!.completedAt!.getTime() - Date.now())).toBeLessThan(60_000)
    expect(letters[0]!.deadline).toBeUndefined()
  })

  test('only what a replay has can be resolved or rejected', async () => {
    const { box, topic } = await buried(place, [1, 2])
    const { items: letters } = await box.deadLetters.list({ topic })
    const ids = letters.map(({ id }) => id)

    expect(await box.deadLetters.resolve(ids)).toBe(0)
    expect(await box.deadLetters.reject(ids, 'no')).toBe(0)
    expect(await box.deadLetters.resolve([])).toBe(0)
    expect(await box.deadLetters.count({ topic })).toBe(2)
  })

  test('a replay that fails makes its letter pending again, with a new reason [reject_sql_per_backend] [reject_uses_db_now]', async () => {
    const { box, topic } = await buried(place, [1])
    const [letter] = await box.deadLetters.replay({ topic })

    expect(await box.deadLetters.reject([letter!.id], 'still broken')).toBe(1)

    const { items: letters } = await box.deadLetters.list({ topic })
    expect(letters).toMatchObject([
      { status: 'pending', reason: 'still broken', message: { attempt: 2 } },
    ])
    expect(letters[0]!.deadline).toBeUndefined()
  })

  test('the reason of a replay that fails is kept short, like any other', async () => {
    const { box, topic } = await buried(place, [1])
    const [letter] = await box.deadLetters.replay({ topic })

    await box.deadLetters.reject([letter!.id], 'x'.repeat(100_000))

    const { items: letters } = await box.deadLetters.list({ topic })
    expect(letters).toMatchObject([{ reason: `${'x'.repeat(2_000)}…` }])
  })

  test('pending letters can be discarded, and discarded ones removed [dead_letter_discard_then_cleanup_deletes_all] [discard_query_has_for_update] [discard_query_sqlite_no_for_update]', async () => {
    const { box, topic } = await buried(place, upTo(3))

    const discarded = await box.deadLetters.discard({ topic })
    const removed = await box.deadLetters.cleanup({ topic })

    expect([discarded, removed]).toEqual([3, 3])
    expect(await box.deadLetters.count({ topic, status: 'any' })).toBe(0)
  })

  test('only letters that are done with are removed [dead_letter_cleanup_only_terminal] [cleanup_deletes_terminal_only]', async () => {
    const { box, topic } = await buried(place, [1, 2, 3])
    await box.deadLetters.discard({ topic, limit: 1 })
    await box.deadLetters.replay({ topic, limit: 1 })

    expect(await box.deadLetters.cleanup({ topic })).toBe(1)

    expect(await box.deadLetters.count({ topic, status: 'any' })).toBe(2)
  })

  test('a requeued letter is delivered again, after all others', async () => {
    const { box, numbers, topic } = await buried(place, [1])
    const { items: letters } = await box.deadLetters.list({ topic })
    await box.stop()
    const next = place.outbox()
    const seen: [number, number, string][] = []
    next.handle(
      numbers,
      async ({ payload, attempt, key }) => void seen.push([payload, attempt, key]),
    )
    await place.send(next, numbers, { payload: -1, key: 'k' })

    const requeued = await next.deadLetters.requeue([letters[0]!.id])
    await next.drain()

    expect(requeued).toBe(1)
    expect(seen).toEqual([
      [-1, 1, 'k'],
      [1, 1, 'k'],
    ])
    expect(await next.deadLetters.count({ topic, status: 'any' })).toBe(0)
  })

  test('a requeued letter wakes the handlers', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    let isBroken = true
    const seen: number[] = []
    box.handle(numbers, async ({ payload }, ctx) => {
      if (isBroken) ctx.reject('broken')
      seen.push(payload)
    })
    await place.send(box, numbers, ...items([1, 2]))
    await box.drain()
    isBroken = false
    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })

    await place.outbox().deadLetters.requeue(letters.map(({ id }) => id))
    await eventually(() => seen.length === 2)

    expect(seen).toEqual([1, 2])
  })

  test('letters that were resolved or discarded are not requeued', async () => {
    const { box, topic } = await buried(place, [1])
    const { items: letters } = await box.deadLetters.list({ topic })
    await box.deadLetters.discard({ topic })

    expect(await box.deadLetters.requeue([letters[0]!.id])).toBe(0)
  })

  test('a process that knows no topic lists all, with their names', async () => {
    const { topic } = await buried(place, [1])

    const { items: letters } = await place.outbox().deadLetters.list({ limit: 1_000 })

    expect(letters.map(({ message }) => message.topic)).toContain(topic)
  })

  test.each([
    ['list', { state: 'pending' }, 'deadLetters.list: unknown option "state"'],
    ['list', { status: 'dead' }, 'deadLetters.list: status must be one of'],
    ['list', { limit: 0 }, 'deadLetters.list: limit must be a whole number, 1 or more, got 0'],
    [
      'list',
      { after: 'x' },
      'deadLetters.list: after must be the next of an earlier page, got "x"',
    ],
    [
      'list',
      { after: '99999999999999999999-1' },
      'deadLetters.list: after must be the next of an earlier page, got "99999999999999999999-1"',
    ],
    ['discard', { after: '1-1' }, 'deadLetters.discard: after cannot be chosen here, got "1-1"'],
    ['cleanup', { after: '1-1' }, 'deadLetters.cleanup: after cannot be chosen here, got "1-1"'],
    ['replay', { after: '1-1' }, 'deadLetters.replay: after cannot be chosen here, got "1-1"'],
    ['list', { topic: '' }, 'deadLetters.list: topic must be the name of a topic, got ""'],
    ['discard', { status: 'any' }, 'deadLetters.discard: status cannot be chosen here, got "any"'],
    ['cleanup', { status: 'any' }, 'deadLetters.cleanup: status cannot be chosen here, got "any"'],
    ['replay', { status: 'any' }, 'deadLetters.replay: status cannot be chosen here, got "any"'],
  ] as const)('%s refuses %j [status_invalid_parse]', async (verb, filter, message) => {
    await expect(place.outbox().deadLetters[verb](filter as never)).rejects.toThrow(message)
  })

  test('ids that are none are refused', async () => {
    const { deadLetters } = place.outbox()

    await expect(deadLetters.resolve('1' as never)).rejects.toThrow(
      'deadLetters.resolve: ids must be a list, got "1"',
    )
    await expect(deadLetters.requeue(['x'])).rejects.toThrow(
      'deadLetters.requeue: needs ids of dead letters, got "x"',
    )
    await expect(deadLetters.reject(['1'], '')).rejects.toThrow(
      'deadLetters.reject: reason must be a non-empty string, got ""',
    )
  })
})
