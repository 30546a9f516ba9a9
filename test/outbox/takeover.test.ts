import { expect, test } from 'vitest'
import type { Outbox, Topic } from '../../src/outbox/index.ts'
import { CLIENT_ACCESS, type ClientWithAccess } from '../../src/store/client-access.ts'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, type OutboxPlace, recorder, upTo } from './support.ts'

/** An outbox whose handler has received the first message and does not settle it. */
async function stuck(
  place: OutboxPlace,
  numbers: Topic<number>,
  options: { readonly batchSize?: number; readonly maxAttempts?: number } = {},
): Promise<{ readonly box: Outbox; readonly release: () => void; readonly calls: number[] }> {
  const box = place.outbox()
  const calls: number[] = []
  const { promise, resolve } = deferred()
  box.handle(
    numbers,
    async ({ payload }) => {
      calls.push(payload)
      await promise
    },
    options,
  )
  await box.start()
  await eventually(() => calls.length > 0)
  return { box, release: resolve, calls }
}

describeOutbox('the death of an owner', (place) => {
  test('another process takes over, and the attempt is counted [crash_leaves_incremented_attempts_in_db] [recovery_after_crash_sees_nonzero_attempts] [success_after_crash_resets_attempts] [e2e_crash_then_recovery]', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items([1, 2]))
    const { release } = await stuck(place, numbers, { batchSize: 1 })
    await place.expireOwner(numbers)
    const next = place.outbox()
    const { seen, run } = recorder()
    next.handle(numbers, run)

    await next.drain()
    release()

    expect(seen.map(({ payload, attempt, seq }) => [payload, attempt, seq])).toEqual([
      [1, 2, 1],
      [2, 1, 2],
    ])
  })

  test('deaths add up, and the last allowed one makes a dead letter [multiple_crashes_accumulate_attempts]', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, { payload: 1 })
    const releases: (() => void)[] = []
    for (let i = 0; i < 2; i++) {
      releases.push((await stuck(place, numbers)).release)
      await place.expireOwner(numbers)
    }
    const next = place.outbox()
    const attempts: number[] = []
    next.handle(
      numbers,
      async ({ attempt }) => {
        attempts.push(attempt)
        throw new Error('still')
      },
      { maxAttempts: 3 },
    )

    await next.drain()
    for (const release of releases) release()

    expect(attempts).toEqual([3])
    expect(await next.deadLetters.count({ topic: numbers.name })).toBe(1)
  })

  test('a message that ends each process that delivers it becomes a dead letter', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items([1, 2]))
    const releases: (() => void)[] = []
    for (let i = 0; i < 2; i++) {
      releases.push((await stuck(place, numbers, { batchSize: 1 })).release)
      await place.expireOwner(numbers)
    }
    const next = place.outbox()
    const { payloads, run } = recorder()
    next.handle(numbers, run, { maxAttempts: 2 })

    await next.drain()
    for (const release of releases) release()

    const { items: letters } = await next.deadLetters.list({ topic: numbers.name })
    expect(payloads()).toEqual([2])
    expect(letters).toMatchObject([
      {
        message: { payload: 1, attempt: 2 },
        reason: 'the process that delivered it died in the last attempt',
      },
    ])
  })

  test('is noticed when its lease ends, before the next tick', async () => {
    const numbers = place.topic<number>()
    const box = place.outbox()
    const { payloads, run } = recorder()
    box.handle(numbers, run)
    await place.send(box, numbers, { payload: 1 })
    const { store } = (place.client() as unknown as ClientWithAccess)[CLIENT_ACCESS]
    await store.open()
    const { runtime } = await store.register({ leaseMs: 2_000, workflows: [], info: 'silent' })
    const [row] = await store.outbox!('outbox').topics([{ name: numbers.name, partitions: 1 }])
    await store.outbox!('outbox').steps(runtime, [
      { partition: row!.first, epoch: null, settle: null, read: 1, release: 'never' },
    ])
    const beganMs = performance.now()

    await box.drain()

    expect(payloads()).toEqual([1])
    expect(performance.now() - beganMs).toBeLessThan(9_000)
  })

  test('messages that died together each get a last attempt alone', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items(upTo(4)))
    const releases: (() => void)[] = []
    for (let i = 0; i < 2; i++) {
      releases.push((await stuck(place, numbers, { maxAttempts: 1 })).release)
      await place.expireOwner(numbers)
    }
    const next = place.outbox()
    const { payloads, run } = recorder()
    next.handle(numbers, run, { maxAttempts: 1 })

    await next.drain()
    for (const release of releases) release()

    // The first process had all of them, the second one only the first.
    const { items: letters } = await next.deadLetters.list({ topic: numbers.name })
    expect(letters.map(({ message }) => message.payload)).toEqual([1])
    expect(payloads()).toEqual([2, 3, 4])
  })

  test('messages of a process that was stopped count no attempt', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items(upTo(3)))
    const { box, release } = await stuck(place, numbers)
    await box.stop({ within: 100 })
    const next = place.outbox()
    const { seen, run } = recorder()
    next.handle(numbers, run, { maxAttempts: 1 })

    await next.drain()
    release()

    expect(seen.map(({ payload, attempt }) => [payload, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
  })

  test('messages that their process was busy with come one at a time, and those behind them as before', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, ...items(upTo(7)))
    const { release } = await stuck(place, numbers, { batchSize: 5 })
    await place.expireOwner(numbers)
    const next = place.outbox()
    const batches: [number, number][][] = []
    next.handleBatch(numbers, async (messages) => {
      batches.push(messages.map(({ payload, attempt }) => [payload, attempt]))
    })

    await next.drain()
    release()

    expect(batches).toEqual([
      ...upTo(5).map((payload) => [[payload, 2]]),
      [
        [6, 1],
        [7, 1],
      ],
    ])
  })

  test('messages that wait apart are counted and tried one at a time as well', async () => {
    const numbers = place.topic<number>()
    const options = { whenStuck: 'skip', retry: { delay: 1, maxDelay: 1 } } as const
    const first = place.outbox()
    let isStuck = false
    const { promise, resolve } = deferred()
    first.handle(
      numbers,
      async ({ attempt }) => {
        if (attempt === 1) throw new Error('once each')
        isStuck = true
        await promise
      },
      options,
    )
    await first.start()
    await place.send(first, numbers, ...items([1, 2]).map((item, i) => ({ ...item, key: `k${i}` })))
    await eventually(() => isStuck)
    await place.expireOwner(numbers)
    const next = place.outbox()
    const batches: [number, number][][] = []
    next.handleBatch(
      numbers,
      async (messages) => {
        batches.push(messages.map(({ payload, attempt }) => [payload, attempt]))
      },
      options,
    )

    await next.drain()
    resolve()

    expect(batches.map(({ length }) => length)).toEqual([1, 1])
    expect(batches.flat().map(([payload]) => payload)).toEqual([1, 2])
    expect(batches[0]![0]![1]).toBe(3)
  })

  test('a process that lost a partition has no effect any more, says so, and goes on under a new number [untested_lease_lost_at_ack]', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, { payload: 1 })
    const { box: first, release } = await stuck(place, numbers)
    await place.expireOwner(numbers)
    const next = place.outbox()
    const handled = deferred()
    const { seen } = recorder()
    next.handle(numbers, async (message) => {
      seen.push(message)
      await handled.promise
    })
    await next.start()
    await eventually(() => seen.length > 0)

    // Too late: the partition has another owner, and its message is not done.
    release()
    await eventually(() =>
      place.log
        .at('warn')
        .includes(
          'partition lost while messages were delivered; another process may deliver them again',
        ),
    )
    const [before] = await first.stats().then((all) => all.filter((s) => s.topic === numbers.name))
    handled.resolve()
    await next.drain()

    expect(before).toMatchObject({ depth: 1 })
    expect(first.health().totals.delivered).toBe(0)
    expect(place.log.at('error')).toContain(
      'outbox lost its partitions because its lease expired; re-registering under a new number',
    )
    expect(seen).toHaveLength(1)
  })

  test('the signal of a handler aborts when its process is taken for dead', async () => {
    const numbers = place.topic<number>(2)
    const box = place.outbox()
    const aborted = deferred<unknown>()
    box.handle(numbers, async ({ payload }, { signal }) => {
      if (payload === 2) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      aborted.resolve(signal.reason)
    })
    await box.start()
    await place.send(box, numbers, { payload: 1, partition: 0 })
    await eventually(async () => {
      const [row] = await place.sql<{ n: number | string }>(
        `select count(*) as n from outbox_partitions as p join outbox_topics as t on t.topic = p.topic
         where t.name = ? and p.owner is not null`,
        numbers.name,
      )
      return Number(row!.n) > 0
    })
    await place.expireOwner(numbers)
    const witness = place.outbox()
    witness.handle(place.topic<number>(), async () => {})
    await witness.start()

    // It learns of it by its next step, here with the other partition.
    await place.send(box, numbers, { payload: 2, partition: 1 })

    expect(await aborted.promise).toMatchObject({ message: 'the lease of this process expired' })
  })

  test('a transaction of a lost owner writes nothing', async () => {
    const numbers = place.topic<number>()
    const { name } = numbers
    await place.send(place.outbox(), numbers, { payload: 1 })
    const { release } = await stuck(place, numbers)
    await place.expireOwner(numbers)
    const next = place.outbox()
    next.handleTransactional(numbers, async ({ attempt }, ctx) => {
      await ctx.tx.query(`insert into ${place.entries} values ($1, $2)`, [
        `${name} ${attempt}`,
        name,
      ])
    })

    await next.drain()
    release()

    expect(await place.readEntries(name)).toEqual([`${name} 2`])
  })

  test('a process that stops releases its partitions at once, without an attempt', async () => {
    const numbers = place.topic<number>()
    const first = place.outbox()
    const begun = deferred()
    first.handle(numbers, async (_, { signal }) => {
      begun.resolve()
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stopped'))),
      )
    })
    await first.start()
    await place.send(first, numbers, { payload: 1 })
    await begun.promise
    await first.stop({ within: 50 })
    const next = place.outbox()
    const { seen, run } = recorder()
    next.handle(numbers, run)

    await next.drain()

    expect(seen).toMatchObject([{ payload: 1, attempt: 1 }])
  })
})

describeOutbox(
  'a server that was down',
  (place) => {
    test('a lease that could not be renewed meanwhile counts as no attempt', async () => {
      const numbers = place.topic<number>()
      await place.send(place.outbox(), numbers, { payload: 1 })
      const { release } = await stuck(place, numbers)
      await place.expireOwner(numbers)
      // In this order: the lease of a dead process is not renewed.
      await place.sql(
        'update runtimes set lease_until = extract(epoch from pg_postmaster_start_time()) * 1000 - 10',
      )
      const next = place.outbox()
      const { seen, run } = recorder()
      next.handle(numbers, run)

      await next.drain()
      release()

      expect(seen.map(({ attempt }) => attempt)).toEqual([1])
    })
  },
  ['postgres'],
)
