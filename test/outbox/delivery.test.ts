import { expect, test } from 'vitest'
import type { Message } from '../../src/outbox/index.ts'
import { eventually } from '../support/engine.ts'
import { describeOutbox, items, recorder, upTo } from './support.ts'

describeOutbox('delivery', (place) => {
  test('messages of a partition are numbered from 1, in the order in which they were enqueued [sequencer_moves_incoming_to_outgoing] [sequencer_preserves_enqueue_order_in_sequences]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads, run } = recorder()
    box.handle(numbers, run)

    await place.send(box, numbers, ...items(upTo(8)))
    await box.drain()

    expect(payloads()).toEqual(upTo(8))
    expect(seen.map(({ seq }) => seq)).toEqual(upTo(8))
    const ids = seen.map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  })

  test('numbers continue without gaps over several transactions [sequencer_updates_partition_sequence_counter] [sequencer_consecutive_batches_contiguous_sequences] [sequencer_processes_across_enqueue_cycles]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    for (let i = 0; i < 3; i++) {
      await place.send(box, numbers, ...items([1, 2]))
      const open = await place.begin()
      await box.in(open.tx).enqueue(numbers, -1)
      await open.rollback()
      await box.drain()
    }

    expect(seen.map(({ seq }) => seq)).toEqual(upTo(6))
  })

  test('each partition has numbers of its own [sequencer_multi_partition_independent_sequences]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    const { seen, run } = recorder()
    box.handle(numbers, run)

    await place.send(
      box,
      numbers,
      ...[0, 1, 1, 0, 1].map((partition) => ({ payload: 0, partition })),
    )
    await box.drain()

    const of = (index: number): number[] =>
      seen.filter(({ partition }) => partition === index).map(({ seq }) => seq)
    expect([of(0), of(1)]).toEqual([
      [1, 2],
      [1, 2, 3],
    ])
  })

  test('without messages no handler is called, and nothing is counted [sequencer_empty_incoming_returns_zero] [idle_poll_does_not_ratchet_attempts] [decoupled_empty_partition_releases_lease] [decoupled_empty_partition_does_not_accumulate_attempts] [sequencer_empty_partition_returns_idle_zero] [snapshot_empty]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    for (let i = 0; i < 3; i++) await box.drain()

    expect(seen).toEqual([])
    expect(box.health().totals).toEqual({ delivered: 0, retried: 0, dead: 0, expired: 0 })
    const owners = await place.sql(
      `select p.partition from outbox_partitions as p join outbox_topics as t on t.topic = p.topic
       where t.name = ? and p.owner is not null`,
      numbers.name,
    )
    expect(owners).toEqual([])
  })

  test('no batch is larger than configured, and all messages come [sequencer_batch_size_limit_enforced] [sequencer_saturated_partition_re_dirtied] [saturated_partition_fully_drained_across_cycles] [batch_transactional_respects_configured_batch_size] [next_chunk_returns_correct_slices]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const batches: number[][] = []
    box.handleBatch(
      numbers,
      async (messages) => void batches.push(messages.map(({ payload }) => payload)),
      { batchSize: 6 },
    )

    await place.send(box, numbers, ...items(upTo(20)))
    await box.drain()

    expect(batches.flat()).toEqual(upTo(20))
    expect(batches.map((batch) => batch.length)).toEqual([6, 6, 6, 2])
  })

  test('large messages come in smaller batches, and in order', async () => {
    const box = place.outbox({ maxPayloadBytes: 6 << 20 })
    const texts = place.topic<string>()
    const batches: string[][] = []
    box.handleBatch(
      texts,
      async (messages) => void batches.push(messages.map(({ payload }) => payload.slice(0, 1))),
    )

    // At most four megabytes are read at once, or one message.
    const sizes = [1.5, 1.5, 1.5, 5, 0.5, 0.5]
    await place.send(
      box,
      texts,
      ...sizes.map((mb, i) => ({ payload: String(i).repeat(Math.floor(mb * 1e6)) })),
    )
    await box.drain()

    expect(batches.flat()).toEqual(['0', '1', '2', '3', '4', '5'])
    expect(batches).toContainEqual(['0', '1'])
    expect(batches).toContainEqual(['3'])
  })

  test('a partition that never empties does not starve others [max_inner_iterations_cap_yields_after_limit]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    const { seen, run } = recorder()
    // Eight rounds of one message each, then it is the turn of the other.
    box.handle(numbers, run, { concurrency: 1, batchSize: 1 })

    await place.send(box, numbers, ...items(upTo(40), { partition: 0 }))
    await place.send(box, numbers, ...items([0], { partition: 1 }))
    await box.drain()

    const place1 = seen.findIndex(({ partition }) => partition === 1)
    expect(place1).toBeGreaterThanOrEqual(0)
    expect(place1).toBeLessThanOrEqual(8)
  })

  test.each(['handle', 'handleTransactional'] as const)(
    'a partition whose handler is slow gives way to others before its batch is done, with %s',
    async (verb) => {
      const box = place.outbox()
      const numbers = place.topic<number>(2)
      const { seen, run } = recorder()
      const slow = async (message: Message<number>): Promise<void> => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
        await run(message)
      }
      box[verb](numbers, slow, { concurrency: 1 })

      await place.send(box, numbers, ...items(upTo(60), { partition: 0 }))
      await place.send(box, numbers, ...items([0], { partition: 1 }))
      await box.drain()

      // One second is the time for twenty messages, and less than that where something else is slow, too.
      expect(seen.findIndex(({ partition }) => partition === 1)).toBeLessThanOrEqual(22)
      const others = seen.filter(({ partition }) => partition === 0)
      expect(others.map(({ payload }) => payload)).toEqual(upTo(60))
      expect(others.every(({ attempt }) => attempt === 1)).toBe(true)
    },
  )

  test('all partitions are served [execute_processes_one_partition_per_call] [parallel_sequencers_process_distinct_partitions] [parallel_sequencers_no_duplicate_sequences] [dirty_set_populated_after_enqueue] [sequencer_processes_only_dirty_partitions] [sequencer_skips_empty_partitions] [sequencer_unsaturated_partition_not_re_dirtied]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(8)
    const { seen, run } = recorder()
    box.handle(numbers, run)

    for (const partition of [0, 2, 5, 7]) {
      await place.send(box, numbers, ...items([1, 2, 3], { partition }))
    }
    await box.drain()

    for (const index of [0, 2, 5, 7]) {
      const of = seen.filter(({ partition }) => partition === index)
      expect(of.map(({ seq }) => seq)).toEqual([1, 2, 3])
    }
    expect(seen).toHaveLength(12)
  })

  test('messages that were there before the start are delivered [startup_reconciliation_finds_preexisting_incoming] [poker_discovers_pending_from_incoming_table] [flush_before_prioritizer_is_noop]', async () => {
    const numbers = place.topic<number>(4)
    await place.send(place.outbox(), numbers, ...items(upTo(8)))
    const box = place.outbox()
    const { payloads, run } = recorder()
    box.handle(numbers, run)

    await box.drain()

    expect(payloads().toSorted((a, b) => a - b)).toEqual(upTo(8))
  })

  test('messages that are enqueued while the outbox starts are not missed [untested_start_signal_race]', async () => {
    const numbers = place.topic<number>(4)
    const box = place.outbox()
    const producer = place.outbox()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(producer, numbers, { payload: 0 })

    const started = box.start()
    for (let n = 1; n <= 10; n++) await place.send(producer, numbers, { payload: n })
    await started
    const beganMs = performance.now()
    await eventually(() => seen.length === 11)

    expect(performance.now() - beganMs).toBeLessThan(3_000)
  })

  test('messages that are enqueued during a delivery come after it [concurrent_enqueue_during_sequencer_preserves_order]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, payloads } = recorder()
    box.handle(
      numbers,
      async (message) => {
        seen.push(message)
        if (message.payload === 2) await place.send(box, numbers, ...items([5, 6, 7, 8, 9]))
      },
      { batchSize: 3 },
    )

    await place.send(box, numbers, ...items(upTo(4)))
    await box.start()
    await eventually(() => seen.length === 9)

    expect(payloads()).toEqual(upTo(9))
    expect(seen.map(({ seq }) => seq)).toEqual(upTo(9))
  })

  test('a message is delivered once when nothing goes wrong [pipeline_single_enqueue_one_delivery]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    // Ten more looks.
    for (let i = 0; i < 10; i++) await box.drain()

    expect(seen).toHaveLength(1)
  })

  test('handlers of several topics work side by side [builder_multiple_queues]', async () => {
    const box = place.outbox()
    const [a, b] = [place.topic<number>(), place.topic<string>()]
    const [seenA, seenB] = [recorder(), recorder<string>()]
    box.handle(a, seenA.run)
    box.handleBatch(b, async (messages) => void seenB.seen.push(...messages))

    await place.send(box, a, { payload: 1 })
    await place.send(box, b, { payload: 'x' })
    await box.drain()

    expect([seenA.payloads(), seenB.payloads()]).toEqual([[1], ['x']])
  })

  test('no more partitions are delivered at the same time than the handler allows [processor_semaphore_limits_concurrency]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(8)
    let now = 0
    let most = 0
    const release: (() => void)[] = []
    box.handle(
      numbers,
      async () => {
        most = Math.max(most, ++now)
        await new Promise<void>((resolve) => release.push(resolve))
        now--
      },
      { concurrency: 3 },
    )
    await box.start()
    for (let partition = 0; partition < 8; partition++) {
      await place.send(box, numbers, { payload: partition, partition })
    }

    await eventually(() => release.length === 3)
    for (let done = 0; done < 8; done++) {
      await eventually(() => release.length > 0)
      release.shift()!()
    }
    await box.drain()

    expect(most).toBe(3)
  })

  test('messages of one partition are never handled at the same time', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(2)
    const now = new Set<number>()
    const overlaps: number[] = []
    box.handle(numbers, async ({ partition, seq }) => {
      if (now.has(partition)) overlaps.push(seq)
      now.add(partition)
      await new Promise((resolve) => setImmediate(resolve))
      now.delete(partition)
    })

    await place.send(
      box,
      numbers,
      ...items(upTo(40)).map((item, i) => ({ ...item, partition: i % 2 })),
    )
    await box.drain()

    expect(overlaps).toEqual([])
  })

  test('keys keep their order while others are delivered at the same time', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>(16)
    const byKey = new Map<string, number[]>()
    box.handle(numbers, async ({ key, payload }) => {
      await new Promise((resolve) => setImmediate(resolve))
      byKey.set(key, [...(byKey.get(key) ?? []), payload])
    })
    await box.start()

    for (let n = 1; n <= 10; n++) {
      await place.send(box, numbers, ...upTo(20).map((k) => ({ payload: n, key: `key-${k}` })))
    }
    await box.drain()

    expect(byKey.size).toBe(20)
    for (const order of byKey.values()) expect(order).toEqual(upTo(10))
  })

  test('two processes share the partitions, and each message comes once [untested_two_live_instances]', async () => {
    const numbers = place.topic<number>(8)
    const all: number[] = []
    const boxes = [place.outbox(), place.outbox()]
    for (const box of boxes) {
      box.handle(
        numbers,
        async ({ payload }) => {
          await new Promise((resolve) => setImmediate(resolve))
          all.push(payload)
        },
        { batchSize: 5 },
      )
      await box.start()
    }

    for (let i = 0; i < 10; i++) {
      await place.send(boxes[i % 2]!, numbers, ...items(upTo(20).map((n) => i * 20 + n)))
    }
    await boxes[0]!.drain()
    await eventually(() => all.length >= 200)

    expect(all.toSorted((a, b) => a - b)).toEqual(upTo(200))
  })

  test('a fence grows when the partition changes hands', async () => {
    const numbers = place.topic<number>()
    const fences: bigint[] = []
    for (let i = 0; i < 3; i++) {
      const box = place.outbox()
      box.handle(numbers, async (_, ctx) => void fences.push(ctx.fence))
      await place.send(box, numbers, { payload: i })
      await box.drain()
      await box.stop()
    }

    expect(fences).toHaveLength(3)
    expect(fences[0]! < fences[1]! && fences[1]! < fences[2]!).toBe(true)
  })
})
